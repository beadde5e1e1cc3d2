package master

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
)

// TestCutJournalIsTold: the master starts on journals that end in the middle of a record, and says in its health how many
// bytes went from which.
func TestCutJournalIsTold(t *testing.T) {
	m := served(t)
	submitted(t, m, ann, sleepJob("j"))
	if got := must(t, m, ann, api.Health, none{}).Text; got != "master is well" {
		t.Errorf("before: %q", got)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for dir, rest := range map[string]string{"names": "cut", "jobs": "cut off"} {
		files, err := filepath.Glob(filepath.Join(m.cfg.Dir, dir, "journal", "*.journal"))
		if err != nil || len(files) == 0 {
			t.Fatal("no journal", err)
		}
		f, err := os.OpenFile(slices.Max(files), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(rest); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m = again(t, m)
	got := must(t, m, ann, api.Health, none{}).Text
	for _, want := range []string{"its last 3 bytes are cut off", "its last 7 bytes are cut off"} {
		if !strings.HasPrefix(got, "master is well; ") || !strings.Contains(got, want) {
			t.Errorf("health does not say %q: %s", want, got)
		}
	}
}
