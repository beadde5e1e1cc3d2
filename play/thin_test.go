package play

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/millrace/millrace/scheduler/drive"
)

// record makes a recording of n launches, a millisecond apart, of which each has a sentence and a list of its own, and of a stop
// after so many. It may be told of the launches before.
func record(n, stop int, told bool) *Recording {
	r := NewRecorder("test", "")
	if told {
		r.Expect(n)
	}
	add := func(at int64, do drive.Do) {
		if !r.keeps(do) {
			return
		}
		d := &r.rec.Decisions
		d.At, d.Do, d.Job, d.Attempt = append(d.At, at), append(d.Do, uint8(do)), append(d.Job, 0), append(d.Attempt, int32(at))
		d.Text = append(d.Text, r.text(fmt.Sprint("at ", at)))
		d.Others = append(d.Others, r.list([]int32{0, r.text(fmt.Sprint("waits at ", at))}))
	}
	for i := range n {
		add(int64(i), drive.Launch)
		if i%stop == stop-1 {
			add(int64(i), drive.Stop)
		}
	}
	return r.Recording()
}

// A million decisions become a page that still tells the whole run: evenly, with every stop, and each with its own sentence.
func TestThinning(t *testing.T) {
	for _, n := range []int{0, 1, 10_000, MaxDecisions - 100, MaxDecisions + 1, 1_000_000} {
		rec := record(n, 1000, false)
		if told := record(n, 1000, true); !reflect.DeepEqual(rec, told) {
			t.Errorf("%d decisions: %d are kept, and %d if they were expected; or others", n, len(rec.Decisions.At), len(told.Decisions.At))
		}
		d := &rec.Decisions
		if len(d.At) > MaxDecisions || len(d.At)+rec.Left != n+n/1000 || n > MaxDecisions && len(d.At) < MaxDecisions/2 {
			t.Fatalf("%d decisions: %d are kept and %d left", n, len(d.At), rec.Left)
		}
		if n < MaxDecisions-1000 && (rec.Left > 0 || rec.Every > 0) {
			t.Errorf("%d decisions fit, %d are left", n, rec.Left)
		}
		at, stops, launches, before := int64(0), 0, int64(0), int64(-1)
		for i := range d.At {
			at += d.At[i]
			if d.Do[i] == uint8(drive.Stop) {
				stops++
			} else {
				if launches++; before >= 0 && rec.Every > 0 && at-before != int64(rec.Every) {
					t.Fatalf("%d decisions: launches at %d and %d are kept, want every %d", n, before, at, rec.Every)
				}
				before = at
			}
			list := rec.Others[d.Others[i]]
			if d.Attempt[i] != int32(at) || rec.Texts[d.Text[i]] != fmt.Sprint("at ", at) || rec.Texts[list[1]] != fmt.Sprint("waits at ", at) {
				t.Fatalf("%d decisions: number %d, at %d, says %q and %q", n, i, at, rec.Texts[d.Text[i]], rec.Texts[list[1]])
			}
		}
		if stops != n/1000 {
			t.Errorf("%d decisions: %d stops are kept of %d", n, stops, n/1000)
		}
		if len(rec.Texts) > 2*len(d.At)+2 || len(rec.Others) > len(d.At) {
			t.Errorf("%d decisions: %d sentences and %d lists for %d decisions", n, len(rec.Texts), len(rec.Others), len(d.At))
		}
	}
}

// TestThinningAtItsEdge: whatever comes when a recording is full, a launch that stays or goes or a stop, launches are kept evenly and stops all.
func TestThinningAtItsEdge(t *testing.T) {
	for _, n := range []int{MaxDecisions - 1, MaxDecisions, MaxDecisions + 1, MaxDecisions + 2, 2*MaxDecisions + 1} {
		for _, stop := range []int{MaxDecisions - 1, MaxDecisions, 1 << 30} {
			rec, stops, launches := record(n, stop, false), 0, 0
			at := int64(0)
			for i, do := range rec.Decisions.Do {
				at += rec.Decisions.At[i]
				if do == uint8(drive.Stop) {
					stops++
				} else if launches++; at%int64(max(rec.Every, 1)) != 0 {
					t.Fatalf("%d launches: that at %d is kept, of every %d", n, at, rec.Every)
				}
			}
			every := max(rec.Every, 1)
			if stops != n/stop || launches != (n+every-1)/every || rec.Left != n-launches || (every > 1) != (n+stops > MaxDecisions) {
				t.Errorf("%d launches and %d stops: %d and %d are kept, every %d, %d are left", n, n/stop, launches, stops, every, rec.Left)
			}
		}
	}
}

// TestRenumber: what is used is kept once, in the order of its first use; none is no place.
func TestRenumber(t *testing.T) {
	var kept []string
	places := renumber([]int32{3, -1, 1, 3, 1}, []string{"a", "b", "c", "d"}, &kept)
	if want := []int32{0, 2, 0, 1}; !reflect.DeepEqual(places, want) || !reflect.DeepEqual(kept, []string{"d", "b"}) {
		t.Errorf("%v, kept %v", places, kept)
	}
}
