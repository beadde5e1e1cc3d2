package tracker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A hall is a tracker and three workers, of which some speak.
type hall struct {
	sick map[int]string
	t    *testing.T
	c    *Tracker
	now  time.Duration
}

func newHall(t *testing.T) *hall {
	t.Helper()
	h := &hall{t: t, c: newCore(t)}
	h.c.Resume(0)
	h.pass(20*time.Second, 0, 1, 2)
	h.down("at first")
	return h
}

func (h *hall) speak(n int) {
	h.t.Helper()
	name := wire.NodeName(fmt.Sprint("n", n))
	r := &wire.Report{Node: name, Session: "s", Seq: uint64(h.now) + 1, Addr: string(name), Idle: -1, Sick: h.sick[n], Capacity: wire.Capacity{Containers: 2}}
	if _, err := h.c.Report(h.now, r, 1<<62); err != nil {
		h.t.Fatal(err)
	}
}

// pass lets time pass, while these nodes speak once a second, not all at one time.
func (h *hall) pass(d time.Duration, speak ...int) {
	h.t.Helper()
	for end := h.now + d; h.now < end; h.now += 100 * time.Millisecond {
		for _, n := range speak {
			if int(h.now/(100*time.Millisecond))%10 == 3*n {
				h.speak(n)
			}
		}
		h.c.Tick(h.now)
	}
}

// down checks who is taken for dead.
func (h *hall) down(when string, want ...wire.NodeName) {
	h.t.Helper()
	var got []wire.NodeName
	for _, n := range h.c.nodes {
		if !n.up {
			got = append(got, n.name)
		}
	}
	if !slices.Equal(got, want) {
		h.t.Errorf("%s: %v are down, want %v", when, got, want)
	}
}

func TestSilentWorkerIsGivenUp(t *testing.T) {
	h := newHall(t)
	h.pass(9*time.Second, 0, 1)
	h.down("9 s after the last word")
	h.pass(3*time.Second, 0, 1)
	h.down("12 s after it", "n2")
	h.pass(time.Second, 0, 1, 2)
	h.down("when it speaks again")
	h.pass(2*time.Second, 0, 1)
	h.c.Suspect("n2", "s")
	h.pass(3*time.Second, 0, 1)
	h.down("5 s, and gossip has lost it too", "n2")
}

// TestDeafMaster: a master that hears nobody gives nobody up, however long that lasts, whatever gossip says; and
// when it hears one again the others have time to come back.
func TestDeafMaster(t *testing.T) {
	for _, cut := range []time.Duration{3, 4, 6, 9, 10, 11, 15, 600} {
		h := newHall(t)
		h.pass(cut * time.Second / 2)
		for _, n := range h.c.nodes {
			h.c.Suspect(n.name, "s")
		}
		h.pass(cut * time.Second / 2)
		h.down(fmt.Sprint("deaf for ", cut*time.Second))
		h.pass(3*time.Second, 1)
		h.down("after three seconds with one of them")
		h.pass(3*time.Second, 0, 1)
		h.down("after six with two")
		h.pass(9*time.Second, 0, 1)
		h.down("the third has not come back", "n2")
	}
}

// TestStoppedMaster: a master that was stopped does not blame the workers.
func TestStoppedMaster(t *testing.T) {
	h := newHall(t)
	h.now += time.Minute
	h.speak(1) // before time is looked at
	h.pass(5*time.Second, 1)
	h.down("after a stop")
	h.pass(7*time.Second, 0, 1)
	h.down("the third has not come back", "n2")
}
