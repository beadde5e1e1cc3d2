package storage_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/storage"
)

// plant makes files, each holding its own name.
func plant(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func link(t testing.TB, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestExpand(t *testing.T) {
	dir := plant(t, "a", "b/c", "b/d", "b/e/f", "b/.hidden", "b/_temporary/x", "b/_SUCCESS", "x[1]", "logs/2024-01/a.log", "logs/2024-02/a.log", "logs/2024-02/b.txt")
	for name, c := range map[string]struct {
		paths []string
		want  []string
	}{
		"file":               {[]string{"a"}, []string{"a"}},
		"directory":          {[]string{"b"}, []string{"b/c", "b/d", "b/e/f"}},
		"trailing slash":     {[]string{"b/"}, []string{"b/c", "b/d", "b/e/f"}},
		"named twice":        {[]string{"a", "a", "b", "b/c"}, []string{"a", "a", "b/c", "b/d", "b/e/f", "b/c"}},
		"hidden, by name":    {[]string{"b/.hidden", "b/_SUCCESS"}, []string{"b/.hidden", "b/_SUCCESS"}},
		"hidden, by pattern": {[]string{"b/.h*"}, []string{"b/.hidden"}},
		"pattern":            {[]string{"logs/*/*.log"}, []string{"logs/2024-01/a.log", "logs/2024-02/a.log"}},
		"pattern of dirs":    {[]string{"logs/2024-0[2-9]"}, []string{"logs/2024-02/a.log", "logs/2024-02/b.txt"}},
		"a file on the way":  {[]string{"*/d"}, []string{"b/d"}},
		"one letter":         {[]string{"?"}, []string{"a", "b/c", "b/d", "b/e/f"}},
		"a name, no pattern": {[]string{"x[1]"}, []string{"x[1]"}},
		"order as given":     {[]string{"b/d", "a"}, []string{"b/d", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var paths, got []string
			for _, p := range c.paths {
				paths = append(paths, dir+"/"+p)
			}
			found, err := storage.Mux{}.Expand(paths)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found {
				got = append(got, strings.TrimPrefix(e.Path, dir+"/"))
				if info, err := os.Stat(e.Path); err != nil || info.Size() != e.Size {
					t.Errorf("%s: size %d, %v", e.Path, e.Size, err)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want, got:\n%s", diff)
			}
		})
	}
}

func TestExpandErrors(t *testing.T) {
	dir := plant(t, "a", "loop/in/file", "dangling/x", "odd/x")
	link(t, "..", dir+"/loop/in/up")
	link(t, "nowhere", dir+"/dangling/link")
	link(t, "self", dir+"/self")
	if err := os.Mkdir(dir+"/empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path  string
		words []string
		is    error
	}{
		"missing":           {"nowhere", []string{`nowhere" does not exist`}, fs.ErrNotExist},
		"below a file":      {"a/b", []string{"a/b"}, nil},
		"no match":          {"z*", []string{`z*"`, "matches no file"}, nil},
		"bad pattern":       {"[z", []string{"[z", "syntax error"}, nil},
		"loop":              {"loop", []string{"directory loop", "in/up"}, nil},
		"loop from inside":  {"loop/in", []string{"directory loop"}, nil},
		"link to itself":    {"self", []string{"self"}, nil},
		"dangling link":     {"dangling", []string{"dangling/link"}, fs.ErrNotExist},
		"not a file at all": {"/dev/null", []string{"/dev/null", "not a regular file"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.path
			if !strings.HasPrefix(p, "/") {
				p = dir + "/" + p
			}
			_, err := storage.Mux{}.Expand([]string{p})
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error lacks %q: %v", w, err)
				}
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the error is not %v: %v", c.is, err)
			}
		})
	}
	if found, err := (storage.Mux{}).Expand([]string{dir + "/empty"}); err != nil || len(found) != 0 {
		t.Errorf("an empty directory: %v, %v", found, err)
	}
}

func TestSchemes(t *testing.T) {
	dir := plant(t, "a", "x:y")
	m := storage.Mux{Stores: map[string]storage.FS{"mem": storage.Count{}}}
	for path, want := range map[string]string{
		"file:" + dir + "/a": "file:" + dir + "/a",
		"count:/5":           "count:/5",
		"mem:/7":             "mem:/7",
		dir + "/x:y":         dir + "/x:y",
	} {
		found, err := m.Expand([]string{path})
		if err != nil || len(found) != 1 || found[0].Path != want {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
	_, err := m.Expand([]string{"s3:/bucket"})
	if !errors.Is(err, storage.ErrScheme) || !strings.Contains(err.Error(), "s3") || !strings.Contains(err.Error(), "mem") {
		t.Errorf("an unknown scheme: %v", err)
	}
	if _, err := m.Expand([]string{""}); err == nil {
		t.Error("an empty path is no error")
	}
}

func TestInside(t *testing.T) {
	dir := plant(t, "a/b/c", "ab/x")
	link(t, dir+"/a", dir+"/link")
	for _, c := range []struct {
		dir, path string
		want      bool
	}{
		{"a", "a", true},
		{"a", "a/b/c", true},
		{"a", "a/new/dir", true},
		{"a", "ab", false},
		{"a", "ab/x", false},
		{"a/b", "a", false},
		{"link", "a/b", true},
		{"a", "link/b/new", true},
		{"a", "a/../ab", false},
		{"a", "ab/../a/z", true},
	} {
		got, err := storage.Mux{}.Inside(dir+"/"+c.dir, dir+"/"+c.path)
		if err != nil || got != c.want {
			t.Errorf("Inside(%s, %s) = %v, %v", c.dir, c.path, got, err)
		}
	}
	if in, err := (storage.Mux{}).Inside("count:/5", dir); in || err != nil {
		t.Errorf("different stores: %v, %v", in, err)
	}
	t.Chdir(dir)
	if in, err := (storage.Mux{}).Inside(".", dir+"/a"); !in || err != nil {
		t.Errorf("relative: %v, %v", in, err)
	}
}

// TestExpandNamesTheOtherStore: of a path without a scheme that only another store has, the error says so.
func TestExpandNamesTheOtherStore(t *testing.T) {
	dir := plant(t, "kept/a")
	other := under{Disk: storage.Disk{}, dir: dir}
	m := storage.Mux{Stores: map[string]storage.FS{"dfs": other}}
	const hint = "(there is one at dfs:/kept/a)"
	for p, want := range map[string]bool{"/kept/a": true, "/kept/b": false, "dfs:/kept/b": false, "dfs:/kept/a/c": false} {
		if _, err := m.Expand([]string{p}); err == nil || strings.Contains(err.Error(), hint) != want {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := m.Expand([]string{"dfs:/kept/a"}); err != nil {
		t.Error(err)
	}
}

// TestExpandAsksForTheNearestPath: of a path of this machine that is not there, the error names the one that was meant.
func TestExpandAsksForTheNearestPath(t *testing.T) {
	t.Chdir(plant(t, "books/novels/a.txt"))
	for p, want := range map[string]string{
		"boks/novels":         ": did you mean books/novels?",
		"books/novles/a.txt":  ": did you mean books/novels/a.txt?",
		"books/novels/aa.txt": ": did you mean books/novels/a.txt?",
		"music":               "",
	} {
		if _, err := (storage.Mux{}).Expand([]string{p}); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "did you mean") != (want != "") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", p, err, want)
		}
	}
}

// under is a store whose root is a directory.
type under struct {
	storage.Disk
	dir string
}

func (u under) Stat(p string) (fs.FileInfo, error) { return u.Disk.Stat(u.dir + p) }
