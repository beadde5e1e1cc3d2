package master

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/script"
)

// underScript is the job of a number that came under a script; without a text it came under fair.
func underScript(i int, text string) wire.JobSpec {
	under := wire.Choice{Name: "fair"}
	if text != "" {
		under = wire.Choice{Name: scheduler.ScriptName, Params: script.Params("mine", text)}
	}
	return wire.JobSpec{Name: fmt.Sprint("j", i), User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}, Under: &wire.Policies{Policy: under}}
}

// came are the texts under which jobs came, by job.
func came(m *Master) (out []string) {
	for _, r := range m.jobs.Snapshot(0) {
		if r.Kind == tracker.Submitted {
			out = append(out, tracker.ScriptOf(r.Spec))
		}
	}
	return out
}

// TestScriptTextOnce: the journal has the text of a script once and not with each of 50 jobs, so does a snapshot, and a restart gives every
// job its own back: from the journal, from the snapshot, and of jobs that came after it, also when scripts take turns.
func TestScriptTextOnce(t *testing.T) {
	dir := t.TempDir()
	m := openReal(t, dir)
	long, other := strings.Repeat("# a line of a script\n", 3000), strings.Repeat("# another\n", 1000)
	var want []string
	submit := func(text string) {
		t.Helper()
		if _, err := m.jobs.Submit(time.Duration(len(want)), underScript(len(want), text)); err != nil {
			t.Fatal(err)
		}
		want = append(want, text)
		if err := m.keep(m.jobs.Take().Records); err != nil {
			t.Fatal(err)
		}
	}
	again := func(when string) {
		t.Helper()
		closeReal(t, m)
		m = openReal(t, dir)
		if got := came(m); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: %d jobs, of %d, or under other scripts", when, len(got), len(want))
		}
	}
	for range 50 {
		submit(long)
	}
	n := m.onDisk(t)
	t.Logf("50 jobs under a script of %d bytes take %d bytes of the journal", len(long), n)
	if n > int64(len(long))+60<<10 {
		t.Errorf("50 jobs under a script of %d bytes take %d bytes of the journal", len(long), n)
	}
	again("from the journal")
	for _, text := range []string{long, other, "", other, long, long} {
		submit(text)
	}
	again("scripts in turn")
	size, err := m.compact(m.last, m.jobs.Snapshot(0))
	if most := int64(2*len(long) + 2*len(other) + 60<<10); err != nil || size > most {
		t.Errorf("the snapshot takes %d bytes, want at most %d: %v", size, most, err)
	}
	submit(long)
	again("from the snapshot and the journal")
	closeReal(t, m)
}

// TestOlderJournal: a job that an older master wrote down has its script's text with it.
func TestOlderJournal(t *testing.T) {
	dir := t.TempDir()
	m := openReal(t, dir)
	spec := underScript(1, "def key(job, node, now):\n    return 1\n")
	payload, err := json.Marshal(&tracker.Record{Kind: tracker.Submitted, Job: "job-1", Spec: &spec})
	if err != nil {
		t.Fatal(err)
	}
	if m.last, err = m.log.journal.AppendAnyway(payload); err != nil {
		t.Fatal(err)
	}
	m.onDisk(t)
	closeReal(t, m)
	m = openReal(t, dir)
	defer closeReal(t, m)
	if got := came(m); len(got) != 1 || got[0] != tracker.ScriptOf(&spec) {
		t.Errorf("%q", got)
	}
}

// TestTextGone: a job that refers to a text which nobody has is read all the same.
func TestTextGone(t *testing.T) {
	spec := underScript(1, "x")
	r := stored(&tracker.Record{Kind: tracker.Submitted, Job: "job-1", Spec: &spec})
	new(texts).take(r)
	if p := r.Spec.Under.Policy.Params; p["name"] != "mine" || p[wire.CodeSum] != wire.SumOf("x") || p[wire.CodeParam] != "" {
		t.Errorf("%v", p)
	}
	if tracker.ScriptOf(&spec) != "x" {
		t.Error("what is written changes the job")
	}
}
