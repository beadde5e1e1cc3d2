package blocks

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// heardNames is a name service that writes down what it is told, and answers as the test says.
type heardNames struct {
	Names
	mu         sync.Mutex
	refuse     error // all calls
	unread     error // reports
	registered wire.RegisterResponse
	answer     wire.BeatResponse
	registers  []wire.RegisterRequest
	reports    []wire.ReportRequest
	beats      []wire.BeatRequest
}

func (n *heardNames) Register(_ context.Context, r wire.RegisterRequest) (wire.RegisterResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.registers = append(n.registers, r)
	return n.registered, n.refuse
}

func (n *heardNames) Report(_ context.Context, r wire.ReportRequest) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reports = append(n.reports, r)
	return errors.Join(n.refuse, n.unread)
}

func (n *heardNames) Beat(_ context.Context, r wire.BeatRequest) (wire.BeatResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.beats = append(n.beats, r)
	return n.answer, n.refuse
}

// hear says whether it answers.
func (n *heardNames) hear(refuse error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse = refuse
}

// told is the last heartbeat.
func (n *heardNames) told() *wire.BeatRequest { return &n.beats[len(n.beats)-1] }

func heardService(t *testing.T) (*Service, *heardNames, *memdisk.FS) {
	t.Helper()
	d := memdisk.New()
	names := &heardNames{registered: wire.RegisterResponse{Cluster: "c1", Epoch: 3, Session: 7, Keys: testKeys}, answer: wire.BeatResponse{Epoch: 3}}
	s := NewService(openOn(t, d), Config{Node: "n1", Rack: "r1", Addr: "a:1", Machine: "big", Names: names})
	return s, names, d
}

// TestNewsIsToldOnce: what has happened is told until it is heard, in order, and then no more.
func TestNewsIsToldOnce(t *testing.T) {
	s, names, _ := heardService(t)
	one, two, three := wire.Block{ID: 1, Gen: 1}, wire.Block{ID: 2, Gen: 1}, wire.Block{ID: 3, Gen: 1}
	c := &s.store.changes
	tell := func(b wire.Block) {
		c.received(b)
		c.deleted(wire.Block{ID: b.ID + 10, Gen: 1})
		c.corrupt(wire.BadBlock{Block: b})
		c.failed(wire.DoneWork{Block: b})
		c.recovered(wire.Recovered{Block: b})
	}
	wantTold := func(when string, want ...wire.Block) {
		t.Helper()
		r := names.told()
		var gone, bad, failed, done []wire.Block
		for _, b := range r.Deleted {
			gone = append(gone, wire.Block{ID: b.ID - 10, Gen: 1})
		}
		for i := range r.Corrupt {
			bad = append(bad, r.Corrupt[i].Block)
		}
		for i := range r.Failed {
			failed = append(failed, r.Failed[i].Block)
		}
		for i := range r.Done {
			done = append(done, r.Done[i].Block)
		}
		for what, got := range map[string][]wire.Block{"received": r.Received, "deleted": gone, "corrupt": bad, "failed": failed, "recovered": done} {
			if !slices.Equal(got, want) {
				t.Errorf("%s: told of %s %v, want %v", when, what, got, want)
			}
		}
	}
	tell(one)
	names.refuse = wire.Unavailable
	if !s.beat(t.Context()) {
		t.Error("a lost heartbeat ends the session")
	}
	tell(two)
	names.refuse = wire.Stale
	if s.beat(t.Context()) {
		t.Error("an old session goes on")
	}
	wantTold("while nobody hears", one, two)
	names.refuse, names.answer.Register = nil, true
	if s.beat(t.Context()) {
		t.Error("a session that is not known goes on")
	}
	tell(three)
	names.answer.Register = false
	if !s.beat(t.Context()) {
		t.Error("the session ends without a reason")
	}
	wantTold("at last", one, two, three)
	s.beat(t.Context())
	wantTold("afterwards")
	c.received(one)
	c.received(wire.Block{ID: 1, Gen: 2})
	c.received(two)
	c.deleted(one)
	s.beat(t.Context())
	if r := names.told(); !slices.Equal(r.Received, []wire.Block{{ID: 1, Gen: 2}, two}) || !slices.Equal(r.Deleted, []wire.Block{one}) {
		t.Errorf("told of %v, and that %v is gone", r.Received, r.Deleted)
	}
}

// TestOrdersOfAReplacedMaster: an answer of a lower epoch than one that was heard is not obeyed; of the same or a higher one it is.
func TestOrdersOfAReplacedMaster(t *testing.T) {
	s, names, _ := heardService(t)
	b := wire.Block{ID: 1, Gen: 1, Len: 10}
	if err := errors.Join(put(s.store, b), s.introduce(t.Context())); err != nil {
		t.Fatal(err)
	}
	names.answer = wire.BeatResponse{Epoch: 2, Delete: []wire.Block{b}, Report: true}
	reports := len(names.reports)
	if !s.beat(t.Context()) || check(s.store, b) != nil || len(names.reports) != reports {
		t.Errorf("the order of an old master was carried out: %v", check(s.store, b))
	}
	names.registered.Epoch = 2
	if err := s.introduce(t.Context()); wire.KindOf(err) != wire.Stale || err == nil {
		t.Errorf("introduced to an old master: %v", err)
	}
	names.answer.Epoch = 4
	if !s.beat(t.Context()) || len(names.reports) != reports+1 {
		t.Errorf("%d reports", len(names.reports)-reports)
	}
	if _, err := s.store.Inspect(b.ID); wire.KindOf(err) != wire.NotFound {
		t.Errorf("the order of a new master: %v", err)
	}
	names.unread = wire.Unavailable
	if !s.beat(t.Context()) {
		t.Error("a report that was lost ends the session")
	}
	names.unread = wire.Stale
	if s.beat(t.Context()) {
		t.Error("a report that is refused as old ends no session")
	}
}

// TestIntroduction: a service says who it is and what it has, page by page. What came and went before is in the report; what is bad is told beside it.
func TestIntroduction(t *testing.T) {
	s, names, _ := heardService(t)
	const n = 2*reportPage + 1
	for id := range wire.BlockID(n) {
		b := wire.Block{ID: id + 1, Gen: 1}
		s.store.replicas[b.ID] = &replica{block: b, vol: s.store.volumes[0], state: finished}
	}
	s.store.changes.received(wire.Block{ID: 1, Gen: 1})
	s.store.changes.deleted(wire.Block{ID: 99_999, Gen: 1})
	s.store.changes.corrupt(wire.BadBlock{Block: wire.Block{ID: 88_888, Gen: 1}})
	if err := s.introduce(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := names.registers[0]
	if r.Node != "n1" || r.Rack != "r1" || r.Addr != "a:1" || r.Machine != "big" || r.Cluster != "" || r.Blocks != n || len(r.Volumes) != 1 {
		t.Errorf("introduced as %+v", r)
	}
	next := wire.BlockID(1)
	for i, p := range names.reports {
		if p.Node != "n1" || p.Session != 7 || p.Page != i || p.Last != (i == 2) || len(p.Blocks) > reportPage {
			t.Errorf("page %d: number %d, last %t, %d blocks", i, p.Page, p.Last, len(p.Blocks))
		}
		for _, b := range p.Blocks {
			if b.ID != next {
				t.Fatalf("%v is reported, %v comes next", b.ID, next)
			}
			next++
		}
	}
	if next != n+1 || s.store.Cluster() != "c1" || s.keys.Newest() != testKeys[0].ID {
		t.Errorf("%d blocks reported; cluster %q, key %d", next-1, s.store.Cluster(), s.keys.Newest())
	}
	s.beat(t.Context())
	if b := names.told(); len(b.Received)+len(b.Deleted) > 0 || len(b.Corrupt) != 1 || b.Session != 7 || b.Key != testKeys[0].ID {
		t.Errorf("then told: %+v", b)
	}
	names.registered.Cluster = "c2"
	if err := s.introduce(t.Context()); wire.KindOf(err) != wire.Invalid {
		t.Errorf("introduced to another cluster: %v", err)
	}
	names.registered.Cluster, names.refuse = "c1", wire.Unavailable
	if err := s.introduce(t.Context()); wire.KindOf(err) != wire.Unavailable {
		t.Errorf("introduced to nobody: %v", err)
	}
}

// TestHeartbeats: a service registers until it is heard, beats every second and with news at once, and says farewell when its disks are gone.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, names, d := heardService(t)
		names.refuse = wire.Unavailable
		done := make(chan error, 1)
		go func() { done <- s.Run(t.Context()) }()
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		if len(names.registers) != 4 || len(names.beats) != 0 {
			t.Errorf("registered %d times in 0.9 s while nobody hears, and beat %d times", len(names.registers), len(names.beats))
		}
		names.hear(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(names.beats); len(names.registers) != 5 || n < 5 || n > 6 {
			t.Errorf("registered %d times, and beat %d times in 5 s", len(names.registers), n)
		}
		before := len(names.beats)
		s.store.changes.received(wire.Block{ID: 1, Gen: 1})
		synctest.Wait()
		if len(names.beats) != before+1 || len(names.told().Received) != 1 {
			t.Errorf("news makes %d heartbeats", len(names.beats)-before)
		}
		d.SetFail(func(string, string, int) error { return syscall.EIO })
		if err := <-done; wire.KindOf(err) != wire.Unavailable || err == nil {
			t.Errorf("the disk is gone, and it ends with %v", err)
		}
		if v := names.told().Volumes; len(v) != 1 || v[0].Failed == "" {
			t.Errorf("its last word: %+v", v)
		}
	})
}

// TestWrongCluster: who is refused for good stops; whoever is told to stop does so without an error.
func TestWrongCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, names, _ := heardService(t)
		names.refuse = wire.Errorf(wire.Invalid, "another cluster")
		if err := s.Run(t.Context()); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("refused for good: %v", err)
		}
		names.refuse = nil
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil || len(names.beats) < 9 {
			t.Errorf("%v after %d heartbeats", err, len(names.beats))
		}
	})
}

// TestLeftReplicasAreSweptByTheService: half a replica that nobody is connected to goes after the time that the config says.
func TestLeftReplicasAreSweptByTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, d := heardService(t)
		w, err := s.store.Begin(wire.Block{ID: 1, Gen: 1}, 100)
		if err != nil {
			t.Fatal(err)
		}
		w.Leave(time.Since(s.begin))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		for _, x := range []struct {
			wait time.Duration
			left int
		}{{s.cfg.LeftFor - time.Second, 1}, {5 * time.Second, 0}} {
			time.Sleep(x.wait)
			synctest.Wait()
			if names, err := d.ReadDir(tmpDir); err != nil || len(names) != x.left {
				t.Errorf("after %v: %v, %v", time.Since(s.begin), names, err)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestDefaults: what is not said gets a value; what is said stays.
func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	got := []any{c.BeatEvery, c.MaxBlock, c.CopyStreams, c.CopyRate, c.CopyYield, c.ScrubPeriod, c.ScrubRate, c.LeftFor, c.ProbeEvery}
	want := []any{time.Second, int64(wire.MaxBlock), 2, int64(32 << 20), 3, 3 * 7 * 24 * time.Hour, int64(4 << 20), 5 * time.Minute, 2 * time.Second}
	if !slices.Equal(got, want) || c.Event == nil {
		t.Errorf("%v, want %v", got, want)
	}
	said := Config{BeatEvery: 1, MaxBlock: 2, CopyStreams: 3, CopyRate: 4, CopyYield: 5, ScrubPeriod: 6, ScrubRate: 7, LeftFor: 8, ProbeEvery: 9}
	c = said.withDefaults()
	got = []any{c.BeatEvery, c.MaxBlock, c.CopyStreams, c.CopyRate, c.CopyYield, c.ScrubPeriod, c.ScrubRate, c.LeftFor, c.ProbeEvery}
	want = []any{time.Duration(1), int64(2), 3, int64(4), 5, time.Duration(6), int64(7), time.Duration(8), time.Duration(9)}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
