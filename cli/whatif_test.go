package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/trace"
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
	for _, want := range []string{"fifo, replayed", "fair", `not in the table: odd: unknown assignment policy "nosuch"`, "misses the real mean completion by +0.0 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	o.asJSON = true
	out.Reset()
	if err := o.report(cmd, runs); err != nil || !strings.Contains(out.String(), `"unable":{"odd":"odd: unknown assignment`) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// writeHistory writes a large job and a small one that comes a second later, on one node with room for both drivers and two tasks.
func writeHistory(t *testing.T, origin trace.Origin) string {
	t.Helper()
	origin.Source, origin.Nodes, origin.Racks, origin.Room = "cluster", 1, 1, 4
	h := &trace.History{Origin: origin}
	for i, maps := range []int32{40, 2} {
		id, at := fmt.Sprint("j", i), time.Duration(i)*time.Second
		h.Jobs = append(h.Jobs, trace.PastJob{ID: id, User: id, Submit: at, Admitted: at, Start: at, End: at + time.Duration(maps)*time.Second, State: trace.JobDone, Maps: maps})
		for m := range maps {
			h.Attempts = append(h.Attempts, trace.PastAttempt{Job: id, Kind: "map", Index: m, Node: "w1", Start: at + time.Duration(m)*time.Second, End: at + time.Duration(m+1)*time.Second})
		}
	}
	file := filepath.Join(t.TempDir(), "h.jsonl")
	if err := writeHistoryFile(file, h); err != nil {
		t.Fatal(err)
	}
	return file
}

// tried replays a history and returns when the second job ended, by arm.
func tried(t *testing.T, o *whatIf) map[string]time.Duration {
	t.Helper()
	o.seed, o.unable = 1, map[string]error{}
	if err := o.read(); err != nil {
		t.Fatal(err)
	}
	out := map[string]time.Duration{}
	for _, a := range o.arms {
		r, err := o.replay(a)
		if err != nil {
			t.Fatal(err)
		}
		out[a.name] = r.res.Jobs[1].Finished
	}
	return out
}

// TestWhatIfTurnsAway: what turned jobs away is compared with nothing, and that is said.
func TestWhatIfTurnsAway(t *testing.T) {
	for limit, want := range map[int][]string{2: {"turned 1 of 2 jobs away", "5.00 s", " - "}, 1: {"turned 2 of 2 jobs away", " - "}, 90: {"+25.0 %"}} {
		file := writeHistory(t, trace.Origin{Policy: "fifo"})
		var out bytes.Buffer
		cmd := newWhatIf()
		cmd.SetArgs([]string{file, "--policy", "fifo", "--admission", "capacity-init", "--admission-param", fmt.Sprintf("max-tasks-per-user=*=%d", limit)})
		cmd.SetOut(&out)
		cmd.SetErr(&bytes.Buffer{})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) || strings.Contains(out.String(), "NaN") {
				t.Errorf("limit %d: no %q in\n%s", limit, w, out.String())
			}
		}
	}
}

// TestWhatIfPeriods: the replay of what ran changes the policy when the cluster did: the small job runs behind the large one
// up to then, and beside it from then on.
func TestWhatIfPeriods(t *testing.T) {
	file := writeHistory(t, trace.Origin{Policy: "fair", Periods: []trace.Period{{Policy: "fifo"}, {From: 10 * time.Second, Policy: "fair"}}})
	got := tried(t, &whatIf{file: file, policies: []string{"fifo", "fair"}})
	was, fifo, fair := got["fifo, then fair"], got["fifo"], got["fair"]
	if was < 10*time.Second || was > 16*time.Second || fifo < 18*time.Second || fair > 9*time.Second {
		t.Errorf("the small job ends at %v as it was, %v under fifo, %v under fair: want 12 s, 21 s, 4 s", was, fifo, fair)
	}
}

// TestWhatIfScript: a history is replayed under a script, as what might be or as what ran; a mistake in it is said with its line.
func TestWhatIfScript(t *testing.T) {
	file := writeHistory(t, trace.Origin{Policy: "fifo"})
	script := filepath.Join(t.TempDir(), "mine.star")
	write := func(text string) {
		if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("def key(job, node, now):\n    return job.maps\n")
	if got := tried(t, &whatIf{file: file, policies: []string{script, "fair"}}); got["mine"] == 0 || got["mine"] > 9*time.Second || got["fifo"] < 18*time.Second {
		t.Errorf("the small job ends at %v: want 4 s where the smallest comes first, and 21 s under fifo", got)
	}
	if got := tried(t, &whatIf{file: file, ran: script, policies: []string{"fifo"}}); got["mine"] == 0 || got["mine"] > 9*time.Second || got["fifo"] < 18*time.Second {
		t.Errorf("the small job ends at %v: want 4 s where the smallest comes first, and 21 s under fifo", got)
	}
	write("def key(job, node, now):\n    return job.size\n")
	o := &whatIf{file: file, policies: []string{script}, seed: 1, unable: map[string]error{}}
	if err := o.read(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.replay(o.arms[1]); err == nil || !strings.Contains(err.Error(), "mine:2") {
		t.Errorf("a mistake: %v", err)
	}
	if err := (&whatIf{file: file, policies: []string{"none.star"}}).read(); err == nil || !strings.Contains(err.Error(), "none.star") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestWhatIfAdmission: another admission policy is tried under the policy that ran; the replay of what ran keeps its own.
func TestWhatIfAdmission(t *testing.T) {
	file := writeHistory(t, trace.Origin{Policy: "fair", Periods: []trace.Period{{Policy: "fair", Admission: "unlimited"}}})
	got := tried(t, &whatIf{file: file, policies: []string{"fair"}, admission: "marp", admitParams: []string{"marp=0.1"}})
	if was, one := got["fair"], got["fair under marp"]; was == 0 || was > 9*time.Second || one < 13*time.Second {
		t.Errorf("the small job ends at %v, and at %v if one driver may run at a time: want 4 s and 15 s", was, one)
	}
	if err := (&whatIf{file: file, admitParams: []string{"marp=0.1"}}).read(); err == nil || !strings.Contains(err.Error(), "--admission") {
		t.Errorf("parameters of no admission policy: %v", err)
	}
}

// TestWhatIfSecondAttempts: second attempts are made by the rule that the history names, and as a cluster makes them if it names none.
func TestWhatIfSecondAttempts(t *testing.T) {
	for _, row := range []struct {
		rule *trace.Rule
		want int64
	}{
		{nil, 1},
		{&trace.Rule{Name: "late", Params: map[string]string{"after": "2s", "slower": "1.5", "share": "0.1"}}, 1},
		{&trace.Rule{Name: "late", Params: map[string]string{"after": "1h"}}, 0},
		{&trace.Rule{Name: "lag"}, 0}, // nothing runs for a minute
		{&trace.Rule{Name: "lag", Params: map[string]string{"after": "1s", "cap": "1"}}, 1},
		{&trace.Rule{Name: "none"}, 0},
	} {
		h := &trace.History{Origin: trace.Origin{Source: "cluster", Policy: "fifo", Nodes: 2, Racks: 1, Room: 8, Second: row.rule}}
		h.Jobs = []trace.PastJob{{ID: "j", User: "ann", End: 30 * time.Second, State: trace.JobDone, Maps: 4}}
		for i := range int32(4) {
			h.Attempts = append(h.Attempts, trace.PastAttempt{Job: "j", Kind: "map", Index: i, Node: "w1", End: []time.Duration{30, 1, 1, 1}[i] * time.Second})
		}
		o := &whatIf{file: filepath.Join(t.TempDir(), "h.jsonl"), policies: []string{"fair"}, seed: 1, unable: map[string]error{}}
		if err := errors.Join(writeHistoryFile(o.file, h), o.read()); err != nil {
			t.Fatal(err)
		}
		r, err := o.replay(o.arms[0])
		if err != nil || r.res.Second != row.want {
			t.Errorf("%+v: %d second attempts, %v", row.rule, r.res.Second, err)
		}
	}
}
