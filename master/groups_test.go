package master

import (
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
