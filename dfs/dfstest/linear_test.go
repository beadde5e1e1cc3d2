package dfstest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"

	"github.com/anishathalye/porcupine"

	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A step is one call about one or two of four directories.
type step struct {
	op   string
	a, b int
}

// An outcome is what the caller was told; lost: nothing, it may or may not have been done.
type outcome struct {
	kind wire.Kind
	ok   bool
	lost bool
}

// four says which of the directories are there.
type four [4]bool

// apply is what a step should answer, and what is there after it.
func (f four) apply(s step) (outcome, four) {
	no := func(k wire.Kind) (outcome, four) { return outcome{kind: k}, f }
	switch {
	case s.op == "mkdir" && f[s.a]:
		return no(wire.Exists)
	case s.op == "mkdir":
		f[s.a] = true
	case !f[s.a]:
		return no(wire.NotFound)
	case s.op == "delete":
		f[s.a] = false
	case s.op == "rename" && f[s.b]:
		return no(wire.Exists)
	case s.op == "rename":
		f[s.a], f[s.b] = false, true
	}
	return outcome{ok: true}, f
}

var fourModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{four{}} },
	Step: func(state, input, output any) []any {
		f, out := state.(four), output.(outcome)
		want, after := f.apply(input.(step))
		switch {
		case out.lost && after != f:
			return []any{f, after}
		case out.lost || out == want:
			return []any{after}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a.(four) == b.(four) },
}

// TestNamesAreLinearizableOverTheNetwork is FAULTS row 50: eight clients change four names while the
// name service is stopped and started; what they were told fits one order of events.
func TestNamesAreLinearizableOverTheNetwork(t *testing.T) {
	t.Parallel()
	rounds := 3
	if require.Stressed() {
		rounds = 30
	}
	c := dfstest.Start(t, dfstest.Config{Nodes: 1})
	rec := &recorder{addr: c.Addr}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { rec.client(i, stop) })
	}
	for range rounds {
		rec.await(100)
		c.StopNames()
		c.StartNames()
	}
	rec.await(100)
	close(stop)
	wg.Wait()
	if r := porcupine.CheckOperationsTimeout(fourModel.ToModel(), rec.ops, time.Minute); r == porcupine.Illegal {
		t.Fatalf("the history of %d calls is not linearizable: %+v", len(rec.ops), rec.ops)
	} else {
		t.Logf("%d calls: %s", len(rec.ops), r)
	}
}

// A recorder notes what clients were told, and when.
type recorder struct {
	addr  string
	clock atomic.Int64
	mu    sync.Mutex // guards ops
	ops   []porcupine.Operation
}

// await waits until so many more calls were answered.
func (r *recorder) await(n int) {
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.ops)
	}
	for goal, begin := count()+n, time.Now(); count() < goal && time.Since(begin) < 30*time.Second; {
		time.Sleep(time.Millisecond)
	}
}

func (r *recorder) client(id int, stop <-chan struct{}) {
	rc := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer rc.Close()
	rng := rand.New(rand.NewPCG(uint64(id), 7))
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond): // so that the history stays short enough to check
		}
		s := step{[]string{"mkdir", "stat", "delete", "rename"}[rng.IntN(4)], rng.IntN(4), rng.IntN(4)}
		if s.op == "rename" && s.a == s.b {
			continue
		}
		begin := r.clock.Add(1)
		err := perform(rc, r.addr, s)
		out, end := outcome{ok: err == nil}, r.clock.Add(1)
		if err != nil {
			out.kind = wire.KindOf(err)
		}
		if out.kind == wire.Unavailable {
			if strings.Contains(err.Error(), "safe mode") || strings.Contains(err.Error(), "cannot be reached") {
				continue // surely not done
			}
			out, end = outcome{lost: true}, math.MaxInt64 // it may still be on its way
		}
		r.mu.Lock()
		r.ops = append(r.ops, porcupine.Operation{ClientId: id, Input: s, Output: out, Call: begin, Return: end})
		r.mu.Unlock()
	}
}

// perform makes one call, once: a client that repeats a call hides what happened.
func perform(rc *rpc.Client, addr string, s step) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := fmt.Sprint("/d", s.a), fmt.Sprint("/d", s.b)
	switch s.op {
	case "mkdir":
		_, err = api.DFSMkdir.Call(ctx, rc, addr, wire.MkdirRequest{Path: a})
	case "stat":
		_, err = api.DFSStat.Call(ctx, rc, addr, wire.PathRequest{Path: a})
	case "delete":
		_, err = api.DFSDelete.Call(ctx, rc, addr, wire.DeleteRequest{Path: a})
	default:
		_, err = api.DFSRename.Call(ctx, rc, addr, wire.RenameRequest{From: a, To: b})
	}
	return err
}
