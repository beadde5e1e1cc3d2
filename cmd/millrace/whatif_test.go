package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A policy under which the jobs of a history cannot run is named below the table; the others are in it.
func TestWhatIfWithoutOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.jsonl")
	history := `{"millrace_history":1,"origin":{"source":"cluster","policy":"fifo","admission":"marp","nodes":2,"racks":1,"room":4}}
{"job":{"id":"a","submit_ns":0,"start_ns":1000000000,"end_ns":3000000000,"state":"done","maps":1,"reduces":1}}
{"attempt":{"job":"a","kind":"map","index":0,"node":"w1","start_ns":1000000000,"end_ns":2000000000}}
{"attempt":{"job":"a","kind":"reduce","index":0,"node":"w1","start_ns":2000000000,"end_ns":3000000000}}
`
	if err := os.WriteFile(file, []byte(history), 0o600); err != nil {
		t.Fatal(err)
	}
	o := whatIf{file: file, policies: []string{"fair"}, seed: 1, unable: map[string]error{}}
	if err := o.read(); err != nil {
		t.Fatal(err)
	}
	o.arms = append(o.arms, arm{name: "odd", policy: "nosuch"})
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetContext(t.Context())
	runs, err := runAll(cmd, len(o.arms), o.try)
	if err != nil || len(runs) != 2 || len(o.unable) != 1 {
		t.Fatalf("%d runs, %v, unable %v", len(runs), err, o.unable)
	}
	if err := o.report(cmd, runs); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fifo, replayed", "fair", `not in the table: odd: no assignment policy "nosuch"`, "misses the real mean completion by +0.0 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	o.asJSON = true
	out.Reset()
	if err := o.report(cmd, runs); err != nil || !strings.Contains(out.String(), `"unable":{"odd":"odd: no assignment`) {
		t.Errorf("%v: %s", err, out.String())
	}
}
