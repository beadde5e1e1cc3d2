package master

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestGroupsFile: the file is read, read again when it changes, and a file with a mistake changes nothing.
func TestGroupsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "groups")
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("# who is where\nstaff:x:10:ann, bob\n\nempty:x:11:\npals:x:12:bob\n")
		g, err := loadGroups(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.of("bob"); !slices.Equal(got, []string{"staff", "pals"}) || g.of("cat") != nil {
			t.Errorf("bob is in %v, cat in %v", got, g.of("cat"))
		}
		go g.follow(t.Context(), slog.New(slog.DiscardHandler))
		write("staff:x:10:cat\n")
		time.Sleep(groupsEvery + time.Second)
		if !slices.Equal(g.of("cat"), []string{"staff"}) || g.of("bob") != nil {
			t.Errorf("after a change bob is in %v, cat in %v", g.of("bob"), g.of("cat"))
		}
		write("staff x 10 bob\n")
		time.Sleep(groupsEvery + time.Second)
		if !slices.Equal(g.of("cat"), []string{"staff"}) {
			t.Errorf("after a mistake cat is in %v", g.of("cat"))
		}
	})
	for _, bad := range []string{"staff", "a:b:c", ":x:1:ann", "a:b:c:d:e"} {
		if _, err := parseGroups("ok:x:1:ann\n" + bad + "\n"); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzGroups(f *testing.F) {
	f.Add("staff:x:10:ann,bob\n# no\n")
	f.Add(":::\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseGroups(text)
		for who, in := range all {
			if err != nil || who == "" || len(in) == 0 || slices.Contains(in, "") {
				t.Errorf("%q is in %q, %v", who, in, err)
			}
		}
	})
}

// TestGroupsFileThatIsRefused: one that is not there, too large or wrong is refused by its name; while a master runs each mistake is logged
// once, and again when it comes back.
func TestGroupsFileThatIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "groups")
	for words, make := range map[string]func() error{
		"no such file":           func() error { return nil },
		"limit is 16777216":      func() error { return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, maxGroups+1)) },
		name + ": line 1 is not": func() error { return os.WriteFile(name, []byte("staff\n"), 0o600) },
	} {
		if err := errors.Join(os.RemoveAll(name), make()); err != nil {
			t.Fatal(err)
		}
		if _, err := loadGroups(name); err == nil || !strings.Contains(err.Error(), words) || !strings.HasPrefix(err.Error(), "groups: ") {
			t.Errorf("%v, want %q", err, words)
		}
	}
	if err := os.WriteFile(name, []byte("#"+strings.Repeat(" ", maxGroups-1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadGroups(name); err != nil {
		t.Errorf("a file of as many bytes as are allowed: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		write := func(text string) int {
			t.Helper()
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3*groupsEvery + time.Second) // it is looked at three times
			synctest.Wait()
			return strings.Count(log.String(), "stay as they were")
		}
		if err := os.WriteFile(name, []byte("a:x:1:ann\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := loadGroups(name)
		if err != nil {
			t.Fatal(err)
		}
		go g.follow(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		if n := write("odd\n"); n != 1 {
			t.Errorf("a mistake is logged %d times", n)
		}
		if n := write("a:x:1:ann\nodd\n"); n != 2 {
			t.Errorf("two mistakes are logged %d times", n)
		}
		if n := write("b:x:1:ann\n"); n != 2 || strings.Count(log.String(), "have changed") != 1 || !slices.Equal(g.of("ann"), []string{"b"}) {
			t.Errorf("mended: %v, %s", g.of("ann"), &log)
		}
		if n := write("a:x:1:ann\nodd\n"); n != 3 {
			t.Errorf("a mistake that comes back is logged %d times", n)
		}
	})
}
