package storage_test

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/storage/storagetest"
)

func TestDiskPassesTheSuite(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Place { return storagetest.Place{Root: t.TempDir()} })
}

// A tree is a store that lists what is below a directory itself, and forbids the calls for each name that this saves.
type tree struct {
	under
	stats *[]string
}

func (t tree) Stat(p string) (fs.FileInfo, error) {
	*t.stats = append(*t.stats, p)
	return t.under.Stat(p)
}

func (t tree) ReadDir(p string) ([]fs.DirEntry, error) { return t.Disk.ReadDir(t.dir + p) }

func (t tree) List(dir string) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		err := filepath.WalkDir(t.dir+dir, func(p string, e fs.DirEntry, err error) error {
			inner := strings.TrimPrefix(p, t.dir)
			if err == nil && storage.Hidden(e.Name()) && inner != dir {
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil || !yield(storage.EntryOf(inner, info), nil) {
				return errors.Join(err, fs.SkipAll)
			}
			return nil
		})
		if err != nil {
			yield(storage.Entry{}, err)
		}
	}
}

// sites has a store for each directory of dir.
func sites(dir string, stats *[]string) storage.Mux {
	stores := map[string]storage.FS{}
	return storage.Mux{Sites: map[string]storage.Sites{"at": func(authority string) (storage.FS, error) {
		if _, err := os.Stat(filepath.Join(dir, authority)); err != nil {
			return nil, err
		}
		if stores[authority] == nil {
			stores[authority] = tree{under{dir: filepath.Join(dir, authority)}, stats}
		}
		return stores[authority], nil
	}}}
}

// TestPathsKeepWhatTheUserWrote: what is found below at://name/ is named so, and is found again by that name.
func TestPathsKeepWhatTheUserWrote(t *testing.T) {
	var stats []string
	m := sites(plant(t, "one/in/f", "one/in/sub/g", "one/in/_not", "two/in/f", "in/h"), &stats)
	for given, want := range map[string]string{
		"at://one/in":      "at://one/in/f at://one/in/sub/g",
		"at://one/in/*":    "at://one/in/f at://one/in/sub/g",
		"at://two/in/f":    "at://two/in/f",
		"at:///in":         "at:///in/h",
		"at:/in":           "at:/in/h",
		"at://one":         "at://one/in/f at://one/in/sub/g",
		"at://one/in/../*": "at://one/in/f at://one/in/sub/g",
	} {
		stats = nil
		found, err := m.Expand([]string{given})
		var got []string
		for _, e := range found {
			got = append(got, e.Path)
			if again, err := m.Expand([]string{e.Path}); err != nil || len(again) != 1 || again[0] != e {
				t.Errorf("%s again: %v, %v", e.Path, again, err)
			}
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", given, got, err, want)
		}
	}
	if dir := m.Dir("at://one/in/f"); dir != "at://one/in" {
		t.Errorf("the directory of at://one/in/f is %s", dir)
	}
	_, err := m.Expand([]string{"at://three/in"})
	if err == nil || !strings.Contains(err.Error(), "at://three/in") {
		t.Errorf("an unknown authority: %v", err)
	}
}

// TestAListingAsksOnce: of a store that lists, no name below a directory is asked for again.
func TestAListingAsksOnce(t *testing.T) {
	var stats []string
	m := sites(plant(t, "one/in/f", "one/in/sub/g", "one/in/sub/h"), &stats)
	for given, want := range map[string][]string{
		"at://one/in":     {"/in"},
		"at://one/in/s*":  {"/in/s*", "/in"},
		"at://one/*/*/h*": {"/*/*/h*"},
	} {
		stats = nil
		if _, err := m.Expand([]string{given}); err != nil || !slices.Equal(stats, want) {
			t.Errorf("%s: asked for %q, %v; want %q", given, stats, err, want)
		}
	}
}

// TestInsideOfSites: directories of different authorities are apart even if their names are the same.
func TestInsideOfSites(t *testing.T) {
	var stats []string
	m := sites(plant(t, "one/a/b", "two/a/b"), &stats)
	for _, c := range []struct {
		dir, p string
		want   bool
	}{{"at://one/a", "at://one/a/b", true}, {"at://one/a", "at://two/a/b", false}, {"at://one/", "at://one/a", true}, {"at://one", "at://one/a", true}} {
		if in, err := m.Inside(c.dir, c.p); in != c.want || err != nil {
			t.Errorf("%s inside %s: %v, %v", c.p, c.dir, in, err)
		}
	}
}
