package deadline

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTicksAreRecycled: what the running tasks of all jobs take is never given twice, and grows with how many run at once, not with how
// many have run.
func TestTicksAreRecycled(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := ticks{free: none}
		var held []int32
		most := 0
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(rt, "give") {
				i := rapid.IntRange(0, len(held)-1).Draw(rt, "which")
				s.give(held[i])
				held = append(held[:i], held[i+1:]...)
				continue
			}
			got := s.take()
			for _, h := range held {
				if h == got {
					rt.Fatalf("%d was given twice", got)
				}
			}
			held = append(held, got)
			most = max(most, len(held))
		}
		if len(s.all) != most {
			rt.Fatalf("%d are kept, %d were held at once", len(s.all), most)
		}
	})
}

// TestClocksGiveBack: a clock that begins anew gives back what its running tasks held, and knows none of them.
func TestClocksGiveBack(t *testing.T) {
	s, c := ticks{free: none}, clock{head: none, tail: none, first: none}
	for range 20 {
		s.reset(&c, 5, 0)
		for task := range int32(5) {
			if c.has(task) {
				t.Fatalf("task %d runs already", task)
			}
			s.add(&c, task, time.Duration(task)*time.Second)
			if !c.has(task) || c.has(5) {
				t.Fatalf("task %d does not run, or one that is none does", task)
			}
		}
	}
	if len(s.all) != 5 {
		t.Errorf("%d are kept for five tasks at once", len(s.all))
	}
}
