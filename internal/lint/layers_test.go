package lint

import (
	"slices"
	"strings"
	"testing"
)

func TestRoomsImportOnlyWhatTheTableAllows(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range load(t) {
		folder := rowOf(f.folder)
		seen[folder] = true
		allowed, known := packages[folder]
		if !known {
			t.Errorf("%s: package %q has no row in the table of rules_test.go", f.path, f.folder)
			continue
		}
		if f.test {
			continue
		}
		for _, imported := range f.imports() {
			ours, ok := strings.CutPrefix(imported, module)
			if !ok {
				continue
			}
			ours = strings.TrimPrefix(ours, "/")
			if ours == "" {
				ours = "."
			}
			if ours != f.folder && !allows(allowed, ours) {
				t.Errorf("%s: %s may not import %s", f.path, folder, ours)
			}
		}
	}
}

// rowOf finds the row of a folder: examples/x shares the row of examples unless it has one of its own, and so on.
func rowOf(folder string) string {
	if _, own := packages[folder]; own {
		return folder
	}
	for _, shared := range []string{"examples", "docs/course", "integration"} {
		if under(folder, shared) {
			return shared
		}
	}
	return folder
}

func allows(allowed []string, folder string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		if prefix, ok := strings.CutSuffix(a, "..."); ok {
			return prefix == "" || under(folder, strings.TrimSuffix(prefix, "/"))
		}
		return a == folder
	})
}

func TestOnlyMembershipImportsMemberlist(t *testing.T) {
	for _, f := range load(t) {
		for _, p := range f.imports() {
			if strings.HasPrefix(p, "github.com/hashicorp/memberlist") && !under(f.folder, "internal/membership") {
				t.Errorf("%s: only internal/membership imports memberlist", f.path)
			}
		}
	}
}
