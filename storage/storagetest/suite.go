// Package storagetest is the suite that every store passes: what jobs rely on when they read, list, write and commit.
package storagetest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/storage"
)

// A Place is an empty directory of a store, by its full path as a user writes it.
type Place struct {
	Mux  storage.Mux
	Root string
}

// Run runs the suite. Each test gets a place of its own.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *scene)
	}{
		{"WhatIsWrittenIsRead", whatIsWrittenIsRead},
		{"ReadsAnyRange", readsAnyRange},
		{"ReadsAtOnce", readsAtOnce},
		{"CreateIsExclusive", createIsExclusive},
		{"OneOfTwoWritersWins", oneOfTwoWritersWins},
		{"WhatIsMissing", whatIsMissing},
		{"Directories", directories},
		{"RenameMoves", renameMoves},
		{"RenameRefuses", renameRefuses},
		{"RemoveAll", removeAll},
		{"OddNames", oddNames},
		{"Expand", expand},
		{"Versions", versions},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := place(t)
			store, root, err := p.Mux.Resolve(p.Root)
			if err != nil {
				t.Fatal(err)
			}
			c.test(t, &scene{FS: store, t: t, mux: p.Mux, full: p.Root, root: root})
		})
	}
}

// A scene is a store in a test.
type scene struct {
	storage.FS
	t          *testing.T
	mux        storage.Mux
	full, root string // the directory with and without its scheme
}

func (s *scene) at(name string) string { return path.Join(s.root, name) }

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// put writes a file whose directory exists.
func (s *scene) put(name, content string) {
	s.t.Helper()
	s.must(s.write(name, content))
}

func (s *scene) write(name, content string) error {
	w, err := s.Create(s.at(name))
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, content)
	return errors.Join(err, w.Close())
}

// get reads a file.
func (s *scene) get(name string) string {
	s.t.Helper()
	f, err := s.Open(s.at(name))
	s.must(err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	s.must(errors.Join(err, f.Close()))
	return string(b)
}

func (s *scene) has(name string) bool {
	s.t.Helper()
	_, err := s.Stat(s.at(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return err == nil
}

// refused checks an error: it is of this kind, if there is one, and names the path.
func (s *scene) refused(err, kind error, name string) {
	s.t.Helper()
	if err == nil || kind != nil && !errors.Is(err, kind) || !strings.Contains(err.Error(), path.Base(name)) {
		s.t.Errorf("%v, want %v that names %s", err, kind, name)
	}
}

func whatIsWrittenIsRead(t *testing.T, s *scene) {
	for _, size := range []int{0, 1, 4096, 3<<20 + 1} {
		name, content := fmt.Sprint("f", size), Pattern(size)
		w, err := s.Create(s.at(name))
		s.must(err)
		for rest := content; len(rest) > 0; {
			n, err := io.WriteString(w, rest[:min(len(rest), 100_003)])
			s.must(err)
			rest = rest[n:]
		}
		s.must(errors.Join(w.Sync(), w.Close()))
		info, err := s.Stat(s.at(name))
		s.must(err)
		if info.Name() != name || info.Size() != int64(size) || info.IsDir() || !info.Mode().IsRegular() {
			t.Errorf("%s is described as %s, %d bytes, %s", name, info.Name(), info.Size(), info.Mode())
		}
		if got := s.get(name); got != content {
			t.Errorf("%s: read %d bytes, which are not the %d written", name, len(got), size)
		}
	}
}

func createIsExclusive(t *testing.T, s *scene) {
	s.put("f", "first")
	s.refused(s.write("f", "second"), fs.ErrExist, "f")
	if got := s.get("f"); got != "first" {
		t.Errorf("the refused file has replaced the first by %q", got)
	}
	s.refused(s.write("nowhere/f", "x"), fs.ErrNotExist, "f")
	if s.has("nowhere") {
		t.Error("a directory was made for a file")
	}
}

func oneOfTwoWritersWins(t *testing.T, s *scene) {
	done := make(chan error)
	for i := range 2 {
		go func() { done <- s.write("f", strings.Repeat(fmt.Sprint(i), 100_000)) }()
	}
	won := 0
	for range 2 {
		if err := <-done; err == nil {
			won++
		}
	}
	if got := s.get("f"); won != 1 || len(got) != 100_000 || strings.Trim(got, got[:1]) != "" {
		t.Errorf("%d writers of one file were told that they have written it; it has %d bytes", won, len(got))
	}
}

func whatIsMissing(_ *testing.T, s *scene) {
	s.put("file", "x")
	for _, name := range []string{"none", "none/below"} {
		_, err := s.Open(s.at(name))
		s.refused(err, fs.ErrNotExist, name)
		_, err = s.Stat(s.at(name))
		s.refused(err, fs.ErrNotExist, name)
		_, err = s.ReadDir(s.at(name))
		s.refused(err, fs.ErrNotExist, name)
	}
	_, err := s.Stat(s.at("file/below"))
	s.refused(err, nil, "below")
	_, err = s.ReadDir(s.at("file"))
	s.refused(err, nil, "file")
}

func directories(t *testing.T, s *scene) {
	s.must(s.MkdirAll(s.at("a/b/c")))
	s.must(s.MkdirAll(s.at("a/b")))
	s.put("a/file", "12")
	s.refused(s.MkdirAll(s.at("a/file/below")), nil, "file")
	for _, name := range []string{"a/z", "a/B", "a/b-", "a/ü"} {
		s.put(name, "")
	}
	list, err := s.ReadDir(s.at("a"))
	s.must(err)
	var got []string
	for _, e := range list {
		info, err := e.Info()
		s.must(err)
		got = append(got, fmt.Sprint(e.Name(), " ", e.IsDir()))
		if e.Name() == "file" && info.Size() != 2 {
			t.Errorf("file is listed with %d bytes", info.Size())
		}
	}
	if diff := cmp.Diff([]string{"B false", "b true", "b- false", "file false", "z false", "ü false"}, got); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
	if list, err := s.ReadDir(s.at("a/b/c")); err != nil || len(list) != 0 {
		t.Errorf("an empty directory: %v, %v", list, err)
	}
	if info, err := s.Stat(s.at("a/b")); err != nil || !info.IsDir() {
		t.Errorf("a directory: %v, %v", info, err)
	}
}

func renameMoves(t *testing.T, s *scene) {
	s.must(s.MkdirAll(s.at("d/in")))
	s.put("d/in/f", "one")
	s.must(s.Rename(s.at("d"), s.at("e")))
	if s.has("d") || s.get("e/in/f") != "one" {
		t.Error("a directory was not moved whole")
	}
	s.must(s.Rename(s.at("e/in/f"), s.at("g")))
	s.put("h", "two")
	s.must(s.Rename(s.at("h"), s.at("g")))
	if s.has("h") || s.has("e/in/f") || s.get("g") != "two" {
		t.Error("a file did not replace a file")
	}
}

func renameRefuses(t *testing.T, s *scene) {
	for _, d := range []string{"d", "e"} {
		s.must(s.MkdirAll(s.at(d)))
		s.put(d+"/f", d)
	}
	s.put("f", "file")
	s.refused(s.Rename(s.at("none"), s.at("x")), fs.ErrNotExist, "none")
	for to, from := range map[string]string{"e": "d", "f": "d", "d": "f", "none/x": "d"} {
		s.refused(s.Rename(s.at(from), s.at(to)), nil, from)
	}
	s.refused(s.Rename(s.at("d"), s.at("e")), fs.ErrExist, "e")
	if s.get("d/f") != "d" || s.get("e/f") != "e" || s.get("f") != "file" {
		t.Error("a refused move has changed something")
	}
	list, err := s.ReadDir(s.at("e"))
	if err != nil || len(list) != 1 {
		t.Errorf("a refused move has left %v, %v", list, err)
	}
}

func removeAll(t *testing.T, s *scene) {
	s.must(s.MkdirAll(s.at("d/deep/er")))
	s.put("d/deep/f", "x")
	s.put("f", "x")
	for _, name := range []string{"d", "f", "d", "none/below"} {
		s.must(s.RemoveAll(s.at(name)))
	}
	if list, err := s.ReadDir(s.root); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// odd are names that something on the way might take for something else.
var odd = []string{
	"a b", "a+b", "a%b", "a%20b", "a%2Fb", "a;b", "a&b=c", "a#b", "q\"'", "[x]", "x[a-", "{a}", "a,b", "x|y", "a~", "a@b", "a$b", "$(x)",
	"ü€ 漢", "e\u0301", "star*", "a?b", "-rf", "a=b", "100%", "...",
}

func oddNames(t *testing.T, s *scene) {
	s.must(s.MkdirAll(s.at("d d/ü%")))
	for _, name := range odd {
		s.put("d d/ü%/"+name, name)
		if got := s.get("d d/ü%/" + name); got != name {
			t.Errorf("%q has %q in it", name, got)
		}
	}
	list, err := s.ReadDir(s.at("d d/ü%"))
	s.must(err)
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	want := slices.Sorted(slices.Values(odd))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
	for _, name := range odd {
		found, err := s.mux.Expand([]string{s.full + "/d d/ü%/" + name})
		if err != nil || len(found) != 1 || found[0].Path != s.full+"/d d/ü%/"+name || found[0].Size != int64(len(name)) {
			t.Errorf("%q as input: %v, %v", name, found, err)
		}
		s.must(s.Rename(s.at("d d/ü%/"+name), s.at("d d/"+name)))
		s.must(s.RemoveAll(s.at("d d/" + name)))
	}
	if list, err := s.ReadDir(s.at("d d")); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

func expand(t *testing.T, s *scene) {
	for _, d := range []string{"a/b/c", "a-b", "a/_hidden", "a/.git/d"} {
		s.must(s.MkdirAll(s.at(d)))
	}
	for _, name := range []string{"a/b/c/1", "a/b/2", "a/b.txt", "a-b/3", "a/_hidden/4", "a/.git/d/5", "a/_SUCCESS", "a/z"} {
		s.put(name, name)
	}
	for _, c := range []struct{ given, want string }{
		{"", "a/b/2 a/b/c/1 a/b.txt a/z a-b/3"},
		{"/a", "a/b/2 a/b/c/1 a/b.txt a/z"},
		{"/a*", "a/b/2 a/b/c/1 a/b.txt a/z a-b/3"},
		{"/a/b*", "a/b/2 a/b/c/1 a/b.txt"},
		{"/a/*/[0-9]", "a/b/2"},
		{"/a/_hidden", "a/_hidden/4"},
		{"/*/b/?", "a/b/2 a/b/c/1"},
	} {
		found, err := s.mux.Expand([]string{s.full + c.given})
		s.must(err)
		var got []string
		for _, e := range found {
			name := strings.TrimPrefix(e.Path, s.full+"/")
			if got = append(got, name); e.Size != int64(len(name)) {
				t.Errorf("%s is found with %d bytes", e.Path, e.Size)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q means %q, want %s", c.given, got, c.want)
		}
	}
	if found, err := s.mux.Expand([]string{s.full + "/none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is missing: %v, %v", found, err)
	}
}

// versions: of a store whose files have versions, nobody reads half of one content and half of another.
func versions(t *testing.T, s *scene) {
	s.must(s.MkdirAll(s.at("d")))
	s.put("d/f", Pattern(200_000))
	found, err := s.mux.Expand([]string{s.full})
	s.must(err)
	again, err := s.mux.Expand([]string{s.full + "/d/f"})
	s.must(err)
	v := found[0].Version
	if v != again[0].Version || v == "" == isVersioner(s.FS) {
		t.Fatalf("versions of an unchanged file: %q and %q", v, again[0].Version)
	}
	if v == "" {
		return
	}
	f, err := storage.OpenVersion(s.FS, s.at("d/f"), v)
	s.must(err)
	defer f.Close()
	if _, err := f.ReadAt(make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	s.put("other", strings.Repeat("x", 200_000))
	s.must(s.Rename(s.at("other"), s.at("d/f")))
	if n, err := f.ReadAt(make([]byte, 200_000), 0); !errors.Is(err, storage.ErrChanged) || !strings.Contains(err.Error(), "d/f") {
		t.Errorf("read %d bytes, %v, of a file that was replaced", n, err)
	}
	if _, err := storage.OpenVersion(s.FS, s.at("d/f"), v); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("a file that was replaced is opened with %v", err)
	}
}

func isVersioner(store storage.FS) bool {
	_, ok := store.(storage.Versioner)
	return ok
}
