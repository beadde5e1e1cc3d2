package history

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/millrace/millrace/internal/wire"
)

// under is a script that decides.
func under(text string) *wire.Policies {
	return &wire.Policies{Policy: wire.Choice{Name: "script", Params: map[string]string{"name": "mine", wire.CodeParam: text}}}
}

// scripted is the life of a job that came under a script.
func scripted(n int, text string) []Entry {
	entries := life(n, int64(n))
	entries[0].Spec.Under = under(text)
	return entries
}

// bytesOf counts keys that begin with a letter, and the bytes of their values.
func bytesOf(t *testing.T, s *Store, letter byte) (keys, bytes int) {
	t.Helper()
	if err := s.eachKey([]byte{letter}, []byte{letter + 1}, func(_, value []byte) (bool, error) {
		keys, bytes = keys+1, bytes+len(value)
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	return keys, bytes
}

// wantScripts wants every job to say under which script it came, by itself and in a list.
func wantScripts(t *testing.T, s *Store, want map[int]string) {
	t.Helper()
	list, err := s.Jobs(wire.PastQuery{Limit: maxJobs})
	if err != nil || len(list.Jobs) != len(want) {
		t.Fatalf("%d jobs of %d, %v", len(list.Jobs), len(want), err)
	}
	for i := range list.Jobs {
		n := int(number(list.Jobs[i].Job))
		j, err := s.Job(list.Jobs[i].Job)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range []*wire.PastJob{j, &list.Jobs[i]} {
			if p := j.Under.Policy.Params; p[wire.CodeParam] != want[n] || p[wire.CodeSum] != "" || p["name"] != "mine" {
				t.Errorf("%s came under %.200v", j.Job, p)
			}
		}
	}
}

// TestScriptTextOnce: the text of a script is in the store once and not with each of 50 jobs, every job has it, also after a restart, and it goes with
// the last job that came under it.
func TestScriptTextOnce(t *testing.T) {
	l, fs := &log{}, vfs.NewMem()
	cfg := configOf(l, fs)
	long, other := strings.Repeat("# a line of a script\n", 3000), strings.Repeat("# another\n", 1000)
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{}
	for n := 1; n <= 50; n++ {
		want[n] = long
		if n > 40 {
			want[n] = other
		}
		s.Add(l.add(scripted(n, want[n])...))
	}
	caughtUp(t, s, l)
	wantScripts(t, s, want)
	_, rows := bytesOf(t, s, jobKey)
	texts, bytes := bytesOf(t, s, textKey)
	t.Logf("50 jobs under scripts of %d and %d bytes: rows of %d bytes, %d texts of %d", len(long), len(other), rows, texts, bytes)
	if texts != 2 || bytes != len(long)+len(other)+2 || rows > 50*1000 {
		t.Errorf("50 jobs under two scripts: rows of %d bytes, %d texts of %d", rows, texts, bytes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	wantScripts(t, s, want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.MaxJobs = 20
	s = open(t, cfg)
	for n := 51; n <= 55; n++ {
		s.Add(l.add(scripted(n, long)...))
	}
	caughtUp(t, s, l)
	wait(t, "20 jobs stay", func() bool { jobs, _ := bytesOf(t, s, jobKey); return jobs == 20 })
	if texts, _ := bytesOf(t, s, textKey); texts != 2 { // 36 to 40 and 51 to 55 came under the long one
		t.Errorf("%d texts", texts)
	}
	for n := 56; n <= 75; n++ {
		s.Add(l.add(scripted(n, other)...))
	}
	wait(t, "one text stays", func() bool { texts, _ := bytesOf(t, s, textKey); return texts == 1 })
	want = map[int]string{}
	for n := 56; n <= 75; n++ {
		want[n] = other
	}
	wait(t, "20 jobs stay", func() bool { jobs, _ := bytesOf(t, s, jobKey); return jobs == 20 })
	wantScripts(t, s, want)
}

// TestOlderRows: a row that an older program wrote has the text with it, and is read; a text that it has left behind without a job goes.
func TestOlderRows(t *testing.T) {
	l, fs := &log{}, vfs.NewMem()
	s, err := Open(configOf(l, fs))
	if err != nil {
		t.Fatal(err)
	}
	row, err := appendJob(&wire.PastJob{Job: "job-1", Stages: 1, State: "SUCCEEDED", Under: under("old")})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string][]byte{string(keyOfJob(1)): row, string(keyOfText(wire.SumOf("nobody's"))): appendText("nobody's")} {
		if err := s.db.Set([]byte(key), value, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, configOf(l, fs))
	wantScripts(t, s, map[int]string{1: "old"})
	if texts, _ := bytesOf(t, s, textKey); texts != 0 {
		t.Errorf("%d texts that no job refers to", texts)
	}
}

// TestGoldenScript holds how a text and a job that refers to it are written.
func TestGoldenScript(t *testing.T) {
	const name = "testdata/golden-v1-script.txt"
	l := &log{}
	s := open(t, configOf(l, vfs.NewMem()))
	s.Add(l.add(scripted(3, "def key(job, node, now):\n    return job.held\n")[0]))
	caughtUp(t, s, l)
	var got strings.Builder
	for _, letter := range []byte{jobKey, textKey} {
		if err := s.eachKey([]byte{letter}, []byte{letter + 1}, func(key, value []byte) (bool, error) {
			fmt.Fprintf(&got, "%x %x\n", key, value)
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if *rewrite {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got.String() {
		t.Error("the format has changed: a new version is needed, and the old one must still be read")
	}
}
