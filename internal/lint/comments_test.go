package lint

import (
	"strings"
	"testing"
)

// TestPackageComments wants exactly one package comment in each package.
func TestPackageComments(t *testing.T) {
	count, name := map[string]int{}, map[string]string{}
	for _, f := range load(t) {
		if f.test {
			continue
		}
		name[f.folder] = f.ast.Name.Name
		if f.ast.Doc != nil {
			count[f.folder]++
			checkComment(t, f)
		}
	}
	for folder, pkg := range name {
		if n := count[folder]; n != 1 {
			t.Errorf("%s (package %s) has %d package comments, want 1", folder, pkg, n)
		}
	}
}

func checkComment(t *testing.T, f file) {
	want := "Package " + f.ast.Name.Name + " "
	if f.ast.Name.Name == "main" {
		want = "Command "
	}
	if !strings.HasPrefix(f.ast.Doc.Text(), want) {
		t.Errorf("%s: the package comment should start with %q", f.path, want)
	}
}

// TestRootListsThePackages: the package comment of the root has a line for each folder of the product.
func TestRootListsThePackages(t *testing.T) {
	unlisted := map[string]bool{".": true, "cmd": true, "internal": true, "integration": true, "docs": true} // cmd is with cli, and the others are for who works on millrace
	comment := readPage(t, "../../doc.go")
	for _, f := range load(t) {
		if top, _, _ := strings.Cut(f.folder, "/"); !f.test && !unlisted[top] && !strings.Contains(comment, "\n//\t"+top+" ") {
			unlisted[top] = true
			t.Errorf("doc.go does not say what %s is", top)
		}
	}
}

// maxLines is where a file asks to be split.
const maxLines = 400

func TestFilesAreShort(t *testing.T) {
	for _, f := range load(t) {
		if n := fset.File(f.ast.Pos()).LineCount(); n > maxLines && !f.test {
			t.Errorf("%s has %d lines, more than %d: split it", f.path, n, maxLines)
		}
	}
}
