package names

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// A call is one operation on four names; its answer is a kind and an id.
type call struct {
	op   string
	a, b int
}

type answer struct {
	id   wire.FileID
	kind wire.Kind
	fail bool
	cut  bool // the power went: nobody knows
}

// names4 is what four names stand for.
type names4 [4]wire.FileID

// step is the specification: what an answer may be, and the state after it.
func (s names4) step(c call, out answer) (bool, names4) {
	refused := func(k wire.Kind) bool { return out.fail && out.kind == k }
	switch c.op {
	case "mkdir":
		if s[c.a] != 0 {
			return refused(wire.Exists), s
		}
		s[c.a] = out.id
		return !out.fail, s
	case "stat":
		if s[c.a] == 0 {
			return refused(wire.NotFound), s
		}
		return !out.fail && out.id == s[c.a], s
	case "delete":
		if s[c.a] == 0 {
			return refused(wire.NotFound), s
		}
		s[c.a] = 0
		return !out.fail, s
	}
	switch { // rename
	case s[c.a] == 0:
		return refused(wire.NotFound), s
	case s[c.b] != 0:
		return refused(wire.Exists), s
	}
	s[c.b], s[c.a] = s[c.a], 0
	return !out.fail && out.id == s[c.b], s
}

// specification allows an operation in whose middle the power went to have happened or
// not. A directory that was made so has an id that nobody was told: it is 0 plus its
// first appearance, which the non-deterministic state keeps open.
func specification(ids []wire.FileID) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{names4{}} },
		Step: func(state, input, output any) (next []any) {
			s, c, out := state.(names4), input.(call), output.(answer)
			if !out.cut {
				if ok, after := s.step(c, out); ok {
					return []any{after}
				}
				return nil
			}
			next = []any{s}
			tries := []answer{{id: s[c.a]}}
			if c.op == "mkdir" {
				tries = nil
				for _, id := range ids {
					tries = append(tries, answer{id: id})
				}
			}
			for _, try := range tries {
				if ok, after := s.step(c, try); ok {
					next = append(next, after)
				}
			}
			return next
		},
		Equal: func(a, b any) bool { return a.(names4) == b.(names4) },
	}
	return m.ToModel()
}

// TestLinearizable checks histories of eight clients, with checkpoints running and the
// power going twice, against the specification.
func TestLinearizable(t *testing.T) {
	seeds := uint64(4)
	if require.Stressed() {
		seeds = 100
	}
	for seed := range seeds {
		h := &history{seed: seed}
		disk := memdisk.New()
		r := newRig(t)
		r.cfg.CheckpointEvery = 25
		for round := range 3 {
			r.disk = disk
			r.open()
			disk = h.run(t, r, disk, round < 2)
			if err := r.s.Close(); err != nil && !errors.Is(err, wire.Unavailable) {
				t.Fatal(err)
			}
		}
		h.check(t)
	}
}

type history struct {
	mu     sync.Mutex
	seed   uint64
	clock  atomic.Int64
	ops    []porcupine.Operation
	client int
}

// run lets eight clients work until they are done or the power goes; it returns the
// disk then.
func (h *history) run(t *testing.T, r *rig, m *memdisk.FS, cut bool) *memdisk.FS {
	t.Helper()
	rng := rand.New(rand.NewPCG(h.seed, uint64(h.clock.Load())))
	after := m
	if cut {
		left := 15 + rng.IntN(20)
		var dead atomic.Bool
		var mu sync.Mutex
		m.SetFail(func(op, _ string, _ int) error {
			mu.Lock()
			defer mu.Unlock()
			if dead.Load() {
				return syscall.EIO
			}
			// Only the one who syncs for all can be in the middle of a promise.
			if op == "sync" {
				if left--; left == 0 {
					after = m.Crash(rng)
					dead.Store(true)
					return syscall.EIO
				}
			}
			return nil
		})
	}
	var wg sync.WaitGroup
	for range 8 {
		h.client++
		id, rng := h.client, rand.New(rand.NewPCG(h.seed, uint64(h.client)+1000))
		wg.Go(func() {
			for range 12 {
				if !h.one(r.s, id, rng) {
					return
				}
			}
		})
	}
	wg.Wait()
	m.SetFail(nil)
	if cut && after == m {
		after = m.Crash(rng)
	}
	return after
}

// one makes a random call and notes it. It returns false when the power is gone.
func (h *history) one(s *Service, client int, rng *rand.Rand) bool {
	c := call{[]string{"mkdir", "stat", "stat", "delete", "rename"}[rng.IntN(5)], rng.IntN(4), rng.IntN(4)}
	if c.op == "rename" && c.a == c.b {
		c.b = (c.a + 1) % 4
	}
	a, b := fmt.Sprintf("/%d", c.a), fmt.Sprintf("/%d", c.b)
	begin := h.clock.Add(1)
	var fi wire.FileInfo
	var err error
	switch c.op {
	case "mkdir":
		fi, err = s.Mkdir(wire.MkdirRequest{Path: a})
	case "stat":
		fi, err = s.Stat(wire.PathRequest{Path: a})
	case "delete":
		err = s.Delete(wire.DeleteRequest{Path: a})
	case "rename":
		fi, err = s.Rename(wire.RenameRequest{From: a, To: b})
	}
	end := h.clock.Add(1)
	out := answer{id: fi.ID, fail: err != nil}
	if err != nil {
		out.kind = wire.KindOf(err)
		out.cut = out.kind == wire.Unavailable
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: c, Output: out, Call: begin, Return: end})
	return !out.cut
}

func (h *history) check(t *testing.T) {
	t.Helper()
	var ids []wire.FileID
	for _, op := range h.ops {
		if out := op.Output.(answer); !out.fail && out.id != 0 {
			ids = append(ids, out.id)
		}
	}
	result, _ := porcupine.CheckOperationsVerbose(specification(ids), h.ops, 30*time.Second)
	if result == porcupine.Illegal {
		for _, op := range h.ops {
			t.Logf("%d-%d client %d: %+v: %+v", op.Call, op.Return, op.ClientId, op.Input, op.Output)
		}
		t.Fatalf("seed %d: the history of %d calls is not linearizable", h.seed, len(h.ops))
	}
	if result == porcupine.Unknown {
		t.Logf("seed %d: the checker gave up on %d calls", h.seed, len(h.ops))
	}
}
