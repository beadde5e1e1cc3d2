package emulate

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/topology"
)

// Two maps of one file stand for two processes.
func open2(t *testing.T) (a, b *Links) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "links")
	for _, l := range []**Links{&a, &b} {
		var err error
		if *l, err = Open(name); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*l).Close() })
	}
	return a, b
}

func TestLinksAreShared(t *testing.T) {
	a, b := open2(t)
	const rate = topology.Rate(1e6)
	s1, err1 := a.find("up r1")
	s2, err2 := b.find("up r1")
	other, err3 := b.find("up r2")
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	const now = int64(time.Hour)
	got := []time.Duration{
		s1.reserve(now, 1e6, rate), s2.reserve(now, 1e6, rate), other.reserve(now, 1e6, rate), s1.reserve(now+int64(10*time.Second), 1e6, rate),
	}
	want := []time.Duration{time.Second - burst, 2*time.Second - burst, time.Second - burst, time.Second - burst}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("transfer %d waits %s, want %s", i, got[i], want[i])
		}
	}
}

func TestOldClockIsForgotten(t *testing.T) {
	a, _ := open2(t)
	s, err := a.find("x")
	if err != nil {
		t.Fatal(err)
	}
	s.next.Store(int64(100 * time.Hour))
	if got := s.reserve(int64(time.Hour), 1e6, 1e6); got != time.Second {
		t.Errorf("waits %s after the machine was started again, want 1s", got)
	}
}

func TestManyLinks(t *testing.T) {
	a, b := open2(t)
	var wg sync.WaitGroup
	for _, l := range []*Links{a, b} {
		wg.Go(func() {
			for i := range slots {
				if _, err := l.find(string(rune(i + 1))); err != nil {
					t.Error(i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := a.find("one more"); err == nil {
		t.Error("there is room for more links than slots")
	}
}

func TestShaperPaysForTheWay(t *testing.T) {
	a, _ := open2(t)
	where := map[string]Place{"w2": {"w2", "r1"}, "10.0.0.3:1": {"w3", "r2"}}
	s := &Shaper{
		Links: a, Rates: topology.Links{NIC: 1e9, Racks: map[string]topology.Rack{"r1": {Uplink: 1e8}, "r2": {Uplink: 1e8, Downlink: 1e8}}},
		Self: Place{"w1", "r1"}, Locate: func(p string) (Place, bool) { at, ok := where[p]; return at, ok },
	}
	for _, c := range []struct {
		peer rpc.Peer
		min  time.Duration
	}{
		{rpc.Peer{Name: "w2", What: rpc.Shuffle}, 0},
		{rpc.Peer{Name: "10.0.0.3:1", What: rpc.Block}, 90 * time.Millisecond},
		{rpc.Peer{Name: "w2", What: rpc.Control}, 0},
		{rpc.Peer{Name: "client", What: rpc.Block}, 0},
	} {
		begin := time.Now()
		s.Send(c.peer, 1e7, nil)
		if took := time.Since(begin); took < c.min {
			t.Errorf("%v: 10 MB took %s, want %s at least", c.peer, took, c.min)
		}
	}
	used := func(link string) bool {
		l, err := a.find(link)
		return err == nil && l.next.Load() != 0
	}
	for link, want := range map[string]bool{"out w1": true, "in w2": true, "in w3": true, "up r1": true, "down r2": true, "down r1": false, "up r2": false} {
		if used(link) != want {
			t.Errorf("link %q used: %v, want %v", link, !want, want)
		}
	}
}
