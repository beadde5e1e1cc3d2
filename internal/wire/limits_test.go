package wire

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestClip: whatever is said, what is kept has no more bytes than it may have, is text, and has the beginning and the end of what was said.
func TestClip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "ü", "\xff", "\xffb", "漢", "🙂", "\xe6\xbc"})
		said := strings.Join(rapid.SliceOfN(piece, 0, 200).Draw(rt, "said"), "")
		most := rapid.IntRange(16, 120).Draw(rt, "most")
		got := Clip(said, most)
		if len(got) > most || !utf8.ValidString(got) {
			rt.Fatalf("%q, at most %d: %d bytes, %q", said, most, len(got), got)
		}
		text := strings.ToValidUTF8(said, "\uFFFD")
		if len(text) <= most {
			if got != text {
				rt.Fatalf("%q fits into %d, yet is %q", said, most, got)
			}
			return
		}
		head, tail, cut := strings.Cut(got, "\n...\n")
		least := (most-len("\n...\n"))/2 - (utf8.UTFMax - 1)
		if !cut || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || min(len(head), len(tail)) < least {
			rt.Fatalf("%q, at most %d: %q", said, most, got)
		}
	})
	if got := Clip("far too long", 3); got != "\n...\n" {
		t.Errorf("where nothing fits: %q", got)
	}
}

// TestEndedIsBounded: an end that a worker reports is kept within limits, and nothing else of it changes.
func TestEndedIsBounded(t *testing.T) {
	id := AttemptID{Job: "job-1", Kind: MapTask, Index: 3, Try: 9}
	long := strings.Repeat("x", MaxText+1)
	fine := Ended{ID: id, OK: true, Millis: 5, InBytes: 7, OutBytes: 8, Skipped: 2, Error: "e", Bad: []BadRecord{{File: "f", Reason: "r"}}}
	same := fine
	if same.Bounded(); !reflect.DeepEqual(same, fine) {
		t.Errorf("what is in order becomes %+v", same)
	}
	e := Ended{ID: id, Error: long, Millis: -1, InBytes: -1, OutBytes: -1, Skipped: -1, Bad: make([]BadRecord, MaxBad+1)}
	e.Bad[MaxBad-1] = BadRecord{File: long, Reason: long}
	e.Bounded()
	last := e.Bad[len(e.Bad)-1]
	if len(e.Error) > MaxText || e.Millis != 0 || e.InBytes != 0 || e.OutBytes != 0 || e.Skipped != 0 || len(e.Bad) != MaxBad {
		t.Errorf("too little or too long: %d bytes of error, %+v", len(e.Error), e.Bad)
	}
	if n, m := len(last.File), len(last.Reason); n > MaxPath || n < MaxPath/2 || m > MaxReason || m < MaxReason/2 {
		t.Errorf("a record with a file of %d bytes and a reason of %d", n, m)
	}
	e = Ended{ID: id, Millis: math.MaxInt64, Skipped: math.MaxInt64}
	if e.Bounded(); e.Millis != math.MaxInt32 || e.Skipped != math.MaxInt32 {
		t.Errorf("too much: %d ms, %d skipped", e.Millis, e.Skipped)
	}
}

// TestEndedWithTooManyCounters: such an attempt has failed for good, and nothing that it says about itself counts.
func TestEndedWithTooManyCounters(t *testing.T) {
	e := Ended{ID: AttemptID{Job: "job-1", Try: 9}, OK: true, Millis: 5, OutBytes: 8, Counts: Counts{"g": {"a\x00b": 1}}}
	e.Bounded()
	if e.ID.Try != 9 || e.OK || !e.Final || e.Millis != 5 || e.OutBytes != 0 || e.Counts != nil || !strings.HasPrefix(e.Error, "counters: ") {
		t.Errorf("%+v", e)
	}
}

// TestReportsAreChecked: a report whose sender says impossible things about itself is refused, whatever else it carries.
func TestReportsAreChecked(t *testing.T) {
	name := strings.Repeat("n", MaxName)
	for what, x := range map[string]struct {
		change func(r *Report)
		ok     bool
	}{
		"an ordinary one":             {func(*Report) {}, true},
		"names as long as they may":   {func(r *Report) { r.Node, r.Rack, r.Session, r.Addr = NodeName(name), name, name, name }, true},
		"no name":                     {func(r *Report) { r.Node = "" }, false},
		"too long a name":             {func(r *Report) { r.Node = NodeName(name + "n") }, false},
		"too long a rack":             {func(r *Report) { r.Rack = name + "n" }, false},
		"too long a class":            {func(r *Report) { r.Machine = name + "n" }, false},
		"too long a session":          {func(r *Report) { r.Session = name + "n" }, false},
		"too long an address":         {func(r *Report) { r.Addr = name + "n" }, false},
		"too long an isolation":       {func(r *Report) { r.Isolation = name + "n" }, false},
		"too long a platform":         {func(r *Report) { r.Platform = name + "n" }, false},
		"slots below zero":            {func(r *Report) { r.Capacity = Capacity{MapSlots: -1, ReduceSlots: 3} }, false},
		"containers below zero":       {func(r *Report) { r.Capacity = Capacity{Containers: -1} }, false},
		"memory below zero":           {func(r *Report) { r.Capacity = Capacity{VCores: 1, MemoryMB: -1} }, false},
		"the most attempts":           {func(r *Report) { r.Capacity = Capacity{VCores: maxAttempts, MemoryMB: 1} }, true},
		"more attempts":               {func(r *Report) { r.Capacity = Capacity{VCores: maxAttempts + 1, MemoryMB: 1} }, false},
		"slots whose sum is negative": {func(r *Report) { r.Capacity = Capacity{MapSlots: math.MaxInt32, ReduceSlots: math.MaxInt32} }, false},
		"slots behind a container":    {func(r *Report) { r.Capacity = Capacity{Containers: 1, MapSlots: math.MaxInt32} }, false},
		"no emulated speed":           {func(r *Report) { r.Speed = 0 }, true},
		"all of its speed":            {func(r *Report) { r.Speed = 1 }, true},
		"more than its speed":         {func(r *Report) { r.Speed = 1.01 }, false},
		"a speed below zero":          {func(r *Report) { r.Speed = -0.01 }, false},
		"no number for a speed":       {func(r *Report) { r.Speed = math.NaN() }, false},
	} {
		r := Report{Node: "n1", Capacity: Capacity{Containers: 4}, Speed: 0.5}
		x.change(&r)
		if err := r.Check(); (err == nil) != x.ok || !x.ok && KindOf(err) != Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	r := Report{Node: "n1", Sick: strings.Repeat("s", MaxReason+1)}
	if err := r.Check(); err != nil || len(r.Sick) > MaxReason || !strings.HasPrefix(r.Sick, "sss") {
		t.Errorf("a long reason: %v, %d bytes", err, len(r.Sick))
	}
}

// TestComplaints: a reduce complains for itself, of maps of its own stage; nobody complains of others.
func TestComplaints(t *testing.T) {
	by := AttemptID{Job: "job-1", Stage: 1, Kind: ReduceTask, Index: 2, Try: 5}
	of := AttemptID{Job: "job-1", Stage: 1, Kind: MapTask, Index: 7, Try: 3}
	for what, x := range map[string]struct {
		change func(b *BadFetch, id *AttemptID)
		ok     bool
	}{
		"its own":              {func(*BadFetch, *AttemptID) {}, true},
		"in another's name":    {func(b *BadFetch, _ *AttemptID) { b.By.Try++ }, false},
		"a map complains":      {func(b *BadFetch, id *AttemptID) { b.By.Kind, id.Kind = MapTask, MapTask }, false},
		"of a reduce":          {func(b *BadFetch, _ *AttemptID) { b.Map.Kind = ReduceTask }, false},
		"of another job's map": {func(b *BadFetch, _ *AttemptID) { b.Map.Job = "job-2" }, false},
		"of another stage's":   {func(b *BadFetch, _ *AttemptID) { b.Map.Stage = 0 }, false},
	} {
		b, id := BadFetch{Map: of, By: by}, by
		if x.change(&b, &id); b.Of(id) != x.ok {
			t.Errorf("%s: %t", what, b.Of(id))
		}
	}
	b := BadFetch{Why: strings.Repeat("w", MaxReason+1), Addr: strings.Repeat("a", MaxName+1)}
	b.Bounded()
	if n, m := len(b.Why), len(b.Addr); n > MaxReason || n < MaxReason/2 || m > MaxName || m < MaxName/2 {
		t.Errorf("%d bytes of reason, %d of address", n, m)
	}
}

func TestProgressIsBounded(t *testing.T) {
	for said, want := range map[float64]float64{0: 0, 0.25: 0.25, 1: 1, 1.5: 1, -3: 0, math.Inf(1): 1, math.Inf(-1): 0} {
		if got := Bounded(said); got != want {
			t.Errorf("%g becomes %g, want %g", said, got, want)
		}
	}
	if got := Bounded(math.NaN()); got != 0 {
		t.Errorf("what is no number becomes %g", got)
	}
}

// TestHowLongAttemptsRan: what a worker says of it is neither negative nor longer than a month.
func TestHowLongAttemptsRan(t *testing.T) {
	for millis, want := range map[int64]time.Duration{-5: 0, 0: 0, 1500: 1500 * time.Millisecond, 1 << 60: math.MaxInt32 * time.Millisecond} {
		if got := (&Progress{Millis: millis}).Ran(); got != want {
			t.Errorf("%d ms: %v, want %v", millis, got, want)
		}
	}
}

// TestNamesOfAPage: the names of a page are those of its entries without their directories.
func TestNamesOfAPage(t *testing.T) {
	l := ListResponse{Entries: []FileInfo{{Path: "/a/b"}, {Path: "/a/c d"}, {Path: "x"}}}
	if got := l.Names(); !slices.Equal(got, []string{"b", "c d", "x"}) {
		t.Errorf("%q", got)
	}
	if got := (&ListResponse{}).Names(); len(got) != 0 {
		t.Errorf("%q of none", got)
	}
}
