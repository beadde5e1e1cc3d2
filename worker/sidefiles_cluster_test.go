package worker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// TestSideFilesComeFromTheStore: tasks read what the job was submitted with, under the name that it gives, and a file that is another by now is not used.
func TestSideFilesComeFromTheStore(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Build: func(p *wire.Program) ([]mapreduce.Job, error) {
		return []mapreduce.Job{{
			Name: "side", Input: []string{"dfs:/in"}, Output: "dfs:/" + p.Builtin, MapOnly: true,
			Map: mapreduce.LinesWith(func(task *mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
				b, err := os.ReadFile(task.SideFile("words"))
				return func(_ []byte, emit func([]byte, int64)) { emit(b, 1) }, err
			}),
		}}, nil
	}})
	const text = "said beside"
	c.Put("/in", "a\n")
	c.Put("/tools/one", text)
	c.Put("/tools/two", "another")
	sum := sha256.Sum256([]byte(text))
	for _, x := range []struct{ name, path, says string }{
		{"right", "/tools/one", ""},
		{"wrong", "/tools/two", "/tools/two has the hash "},
		{"again", "/tools/one", ""}, // the worker has it
	} {
		side := wire.Side{Name: "words", Path: x.path, Hash: hex.EncodeToString(sum[:])}
		if x.says != "" {
			side.Hash = strings.Repeat("0", 64)
		}
		id, err := api.JobSubmit.Call(t.Context(), c.Client, c.Addr, wire.JobSpec{Name: x.name, Program: wire.Program{Builtin: x.name, Files: []wire.Side{side}}, Stages: 1, Output: "dfs:/" + x.name, Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := c.Finish(id.Job)
		if (s.State == "SUCCEEDED") != (x.says == "") || !strings.Contains(s.Error, x.says) {
			t.Errorf("%s: %s: %s", x.name, s.State, s.Error)
		}
		if x.says != "" {
			continue
		}
		if got := output(c, "/"+x.name); got != text+"\t1\n" {
			t.Errorf("%s: %q", x.name, got)
		}
	}
	dir := filepath.Join(c.Workers[0].Dir, "shipped")
	if got, err := filepath.Glob(filepath.Join(dir, "*-"+hex.EncodeToString(sum[:]))); err != nil || len(got) != 1 {
		t.Errorf("of the file that was right there are %v, %v", got, err)
	}
	if wrong, err := filepath.Glob(filepath.Join(dir, "*-"+strings.Repeat("0", 64))); err != nil || len(wrong) != 0 {
		t.Errorf("what was not what it should be is kept as if it were: %v, %v", wrong, err)
	}
}
