package history

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

func randomEvent(rng *rand.Rand) wire.PastEvent {
	e := wire.PastEvent{At: rng.Int64(), Kind: wire.PastKinds[rng.IntN(12)] /* those of the golden file: kinds are only appended */}
	some := func() bool { return rng.IntN(2) == 0 }
	if some() {
		e.Stage = rng.IntN(100)
	}
	if some() {
		e.Task, e.Index, e.Try, e.Number = taskKinds[rng.IntN(3)], rng.Int32(), rng.Uint64(), rng.IntN(5)
	}
	if some() {
		e.Node, e.Locality, e.Second = "w1", localities[rng.IntN(4)], some()
	}
	if some() {
		e.Millis, e.In, e.Out = rng.Int64(), rng.Int64(), -rng.Int64()
	}
	if some() {
		e.Counts = wire.Counts{"task": {"records": rng.Int64(), "bytes": 1}, "": {"x": -1}}
	}
	if some() {
		e.Maps, e.Reduces = rng.Int32(), rng.Int32()
	}
	if some() {
		e.State, e.Text = "FAILED", strings.Repeat("é\n", rng.IntN(9))
	}
	return e
}

// TestEventsComeBack: whatever is written is read, and no shorter value is taken for whole.
func TestEventsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		want := randomEvent(rng)
		b := encodeEvent(&want)
		got, err := parseEvent(b, false)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		for n := range b {
			for _, brief := range []bool{false, true} {
				if short, err := parseEvent(b[:n], brief); err == nil {
					t.Fatalf("%d of %d bytes are read as %+v", n, len(b), short)
				}
			}
		}
		want.Counts = nil
		if got, err := parseEvent(b, true); err != nil || cmp.Diff(want, got) != "" {
			t.Fatalf("in brief %v, %s", err, cmp.Diff(want, got))
		}
	}
}

// TestBriefEventsCostLittle: what is not asked for is not made, so that a page about thousands of attempts does not pay for what they counted.
func TestBriefEventsCostLittle(t *testing.T) {
	e := life(1, 1)[2].PastEvent
	e.Node, e.Counts = "n1", wire.Counts{"task": {"input-records": 1000, "input-bytes": 1 << 26, "output-records": 9, "output-bytes": 77}}
	b := encodeEvent(&e)
	cost := func(brief bool) float64 {
		return testing.AllocsPerRun(100, func() {
			if _, err := parseEvent(b, brief); err != nil {
				t.Error(err)
			}
		})
	}
	if brief, whole := cost(true), cost(false); brief > 2 || whole < 8 {
		t.Errorf("%g allocations in brief, %g of the whole", brief, whole)
	}
}

func FuzzEvent(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		e := randomEvent(rng)
		f.Add(encodeEvent(&e))
	}
	f.Add([]byte("\x01\x04\xc4\x010\x0200\x0000")) // counts that say there are none
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseEvent(b, false)
		if err != nil {
			return
		}
		if brief, err := parseEvent(b, true); err != nil || brief.Text != e.Text || brief.At != e.At {
			t.Errorf("%+v is in brief %+v, %v", e, brief, err)
		}
		again, err := parseEvent(encodeEvent(&e), false)
		if err != nil || cmp.Diff(e, again) != "" {
			t.Errorf("%+v comes back as %+v, %v", e, again, err)
		}
	})
}

func FuzzJob(f *testing.F) {
	f.Add([]byte("\x01{\"job\":\"job-1\"}"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseJob(b) })
}

// TestGolden holds the format: what version 1 wrote is read by every later one, and version 1 is still written so.
func TestGolden(t *testing.T) {
	const name = "testdata/golden-v1.txt"
	rng := rand.New(rand.NewPCG(7, 7))
	var lines []string
	for i := range 20 {
		e := randomEvent(rng)
		lines = append(lines, fmt.Sprintf("%x %x", keyOfEvent(uint64(i+1), &Entry{Seq: uint64(i * 1000), Epoch: uint32(i % 3), Count: uint32(i)}), encodeEvent(&e)))
	}
	j, err := appendJob(&wire.PastJob{Job: "job-3", Name: "n", User: "ann", Stages: 1, State: "FAILED", Error: "why", Submitted: 5, Ended: 9, Counts: wire.Counts{"a": {"b": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	lines = append(lines, fmt.Sprintf("%x %x", keyOfJob(3), j))
	got := strings.Join(lines, "\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Error("the format has changed: a new version is needed, and the old one must still be read")
	}
}

// TestVersions: values of a later version are refused by their number.
func TestVersions(t *testing.T) {
	if _, err := parseEvent([]byte{9, 0, 0, 0}, false); wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), "version 9") {
		t.Error(err)
	}
	if _, err := parseJob([]byte{9}); wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), "version 9") {
		t.Error(err)
	}
}

func TestNumber(t *testing.T) {
	for id, want := range map[wire.JobID]uint64{"job-12": 12, "job-": 0, "job--1": 0, "x": 0, "job-99999999999999999999": 0} {
		if got := number(id); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}
