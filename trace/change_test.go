package trace

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func drawHistory(t *rapid.T) *History {
	b := &Builder{}
	for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		j, err := b.Job(string(rune('a' + i)))
		if err != nil {
			t.Fatal(err)
		}
		j.Submit = time.Duration(rapid.IntRange(0, 1000).Draw(t, "submit")) * time.Second
		j.User, j.Queue = rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "user"), rapid.SampledFrom([]string{"", "etl"}).Draw(t, "queue")
		j.InputBytes = int64(rapid.IntRange(1, 1<<30).Draw(t, "input"))
		for n := range rapid.IntRange(0, 4).Draw(t, "tasks") {
			start := j.Submit + time.Duration(rapid.IntRange(0, 100).Draw(t, "wait"))*time.Second
			a := PastAttempt{Kind: rapid.SampledFrom([]string{"map", "reduce"}).Draw(t, "kind"), Node: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"), Start: start, End: start + time.Duration(rapid.IntRange(0, 50).Draw(t, "took"))*time.Second}
			if err := b.Attempt(j.ID, string(rune('0'+n)), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	h, err := b.History("test")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Pieces of a history, put together, are the history; scaling there and back changes nothing; samples are part of it.
func TestChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		at := time.Duration(rapid.IntRange(0, 1100).Draw(t, "at")) * time.Second
		first, second := h.Cut(0, at, 0), h.Cut(at, 1<<62, 0)
		if len(first.Jobs)+len(second.Jobs) != len(h.Jobs) || len(first.Attempts)+len(second.Attempts) != len(h.Attempts) {
			t.Fatalf("%d and %d jobs of %d, %d and %d attempts of %d", len(first.Jobs), len(second.Jobs), len(h.Jobs), len(first.Attempts), len(second.Attempts), len(h.Attempts))
		}
		for _, j := range second.Jobs {
			if j.Submit < 0 {
				t.Fatalf("%s comes at %v", j.ID, j.Submit)
			}
		}
		if n := len(h.Cut(0, 1<<62, 2).Jobs); n != min(2, len(h.Jobs)) {
			t.Fatalf("%d jobs where at most 2 were wanted", n)
		}
		f := Factors{Arrivals: 4, Tasks: 2, Bytes: 8}
		there, err := h.Scale(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, took := Held(h.Attempts); len(h.Attempts) > 0 {
			if _, longer := Held(there.Attempts); longer != 2*took {
				t.Fatalf("attempts take %v, they took %v", longer, took)
			}
		}
		back, err := there.Scale(Factors{Arrivals: 1 / f.Arrivals, Tasks: 1 / f.Tasks, Bytes: 1 / f.Bytes})
		if err != nil {
			t.Fatal(err)
		}
		byTask := cmpopts.SortSlices(func(a, b PastAttempt) bool { // those that end together may come in any order
			return a.Job < b.Job || a.Job == b.Job && (a.Kind < b.Kind || a.Kind == b.Kind && a.Index < b.Index)
		})
		if d := cmp.Diff(h, back, byTask); d != "" {
			t.Fatal(d)
		}
		kept := h.Sample(0.5, rand.New(rand.NewPCG(1, 1)))
		if again := h.Sample(0.5, rand.New(rand.NewPCG(1, 1))); cmp.Diff(kept, again) != "" || len(kept.Jobs) > len(h.Jobs) {
			t.Fatal("the same seed kept other jobs")
		}
		if whole := h.Sample(1, rand.New(rand.NewPCG(1, 1))); len(whole.Jobs) != len(h.Jobs) || len(whole.Attempts) != len(h.Attempts) {
			t.Fatal("the whole is not the whole")
		}
	})
}

// Nothing that names somebody is left, and what belonged together still does.
func TestAnonymise(t *testing.T) {
	h := &History{
		Origin: Origin{
			Machines: []Machine{{Name: "db.example.org", Rack: "cellar", Class: "old"}}, Links: []Link{{Rack: "cellar", Up: 1}},
			Periods: []Period{{Policy: "capacity", Params: map[string]string{"queues": "payroll"}}},
		},
		Jobs: []PastJob{
			{ID: "job-7", Name: "salaries", User: "ann", Queue: "payroll", Pool: "p"}, {ID: "job-8", User: "bob", Queue: "payroll"}, {ID: "job-9", User: "ann"},
		},
		Attempts: []PastAttempt{{Job: "job-8", Kind: "map", Node: "db.example.org"}},
	}
	want := &History{
		Origin: Origin{Machines: []Machine{{Name: "node1", Rack: "rack1", Class: "class1"}}, Links: []Link{{Rack: "rack1", Up: 1}}, Periods: []Period{{Policy: "capacity"}}},
		Jobs: []PastJob{
			{ID: "job1", Name: "name1", User: "user1", Queue: "queue1", Pool: "pool1"}, {ID: "job2", User: "user2", Queue: "queue1"}, {ID: "job3", User: "user1"},
		},
		Attempts: []PastAttempt{{Job: "job2", Kind: "map", Node: "node1"}},
	}
	if d := cmp.Diff(want, h.Anonymise()); d != "" {
		t.Error(d)
	}
	if h.Jobs[0].User != "ann" || h.Origin.Machines[0].Name != "db.example.org" || h.Origin.Periods[0].Params == nil {
		t.Error("the history itself was changed")
	}
}

func TestDescribePast(t *testing.T) {
	s := time.Second
	h := &History{
		Jobs:     []PastJob{{ID: "a", User: "ann", Maps: 2, Start: s, End: 11 * s}, {ID: "b", User: "bob", Submit: s, Maps: 1, Reduces: 1, Start: s, End: 21 * s}},
		Attempts: []PastAttempt{{Job: "a", Node: "x", Start: s, End: 11 * s}, {Job: "a", Node: "y", Start: s, End: 6 * s, Lost: true}, {Job: "b", Node: "x", Start: 11 * s, End: 16 * s}, {Job: "b", Node: "x", Start: 16 * s, End: 21 * s}},
	}
	d := h.Describe()
	if d.Maps != 3 || d.Reduces != 1 || d.Attempts != 4 || d.Lost != 1 || d.Machines != 2 || d.Users != 2 || d.Queues != 0 || d.Held != 25*s || d.Peak != 2 || d.JobQ.Max != 20 || d.WaitQ.Max != 1 {
		t.Errorf("%+v", d)
	}
	if HistoryOf([]Job{{ID: "a"}}).Describe() != nil {
		t.Error("a history without attempts tells nothing")
	}
}

// Jobs that never began waited for nothing that is known, and one that was turned away took no time.
func TestDescribeJobsThatNeverBegan(t *testing.T) {
	s := time.Second
	h := &History{
		Jobs: []PastJob{
			{ID: "a", Submit: 1000 * s, Start: 1001 * s, End: 1002 * s, State: JobDone, Maps: 1},
			{ID: "b", Submit: 1000 * s, End: 1001 * s, State: JobRejected, Maps: 1},
			{ID: "c", Submit: 1000 * s, End: 1005 * s, State: JobFailed, Maps: 1},
		},
		Attempts: []PastAttempt{{Job: "a", Node: "x", Start: 1001 * s, End: 1002 * s}},
	}
	d := h.Describe()
	if d.WaitQ.Min != 1 || d.WaitQ.Max != 1 || d.JobQ.Min != 2 || d.JobQ.Max != 5 {
		t.Errorf("waits from %g to %g s, jobs from %g to %g s", d.WaitQ.Min, d.WaitQ.Max, d.JobQ.Min, d.JobQ.Max)
	}
	h.Jobs = h.Jobs[1:2]
	if d := h.Describe(); d.WaitQ != (Quantiles{}) || d.JobQ != (Quantiles{}) {
		t.Errorf("of a job that was turned away: %+v", d)
	}
}

// TestScaleOfExpected: what was told of a job is scaled as what it was, and the history that was given stays.
func TestScaleOfExpected(t *testing.T) {
	h := &History{Jobs: []PastJob{{ID: "a", InputBytes: 1, Expect: &Expected{2, 4, 6, 8, 10}}}}
	got, err := h.Scale(Factors{Arrivals: 1, Tasks: 0.5, Bytes: 3})
	if err != nil || *got.Jobs[0].Expect != (Expected{6, 12, 18, 4, 5}) || *h.Jobs[0].Expect != (Expected{2, 4, 6, 8, 10}) {
		t.Errorf("%v: %+v of %+v", err, got, h.Jobs[0].Expect)
	}
}
