package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// holdLast makes the last map wait until release is called, so that the test can break what the others have left.
func (r *rig) holdLast() (release func()) {
	free := make(chan struct{})
	last := r.cfg.splits - 1
	r.hooks.Store(&hooks{onMap: func(_ wire.NodeName, task *mapreduce.Task) error {
		if task.Index == last {
			select {
			case <-free:
			case <-task.Context().Done():
			}
		}
		return nil
	}})
	return func() { close(free) }
}

// outputFile finds where a map's output lies.
func (r *rig) outputFile(id wire.JobID, index int) string {
	r.t.Helper()
	for _, n := range r.Workers {
		found, err := filepath.Glob(filepath.Join(n.Dir, "scratch", string(id)+".0", fmt.Sprintf("map-%05d-*", index)))
		if err == nil && len(found) == 1 {
			return found[0]
		}
	}
	r.t.Fatalf("the output of map %d is nowhere", index)
	return ""
}

// flipByte changes a byte near the middle of a file.
func flipByte(t *testing.T, name string, rng *rand.Rand) {
	t.Helper()
	flipAt(t, name, 0.25+rng.Float64()/2, 1<<rng.IntN(8))
}

// flipAt changes bits of the byte at a share of a file.
func flipAt(t *testing.T, name string, share float64, bits byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		b[int(share*float64(len(b)))] ^= bits
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFlippedMapOutput is FAULTS row 29: a byte of a map's output is flipped on the disk. Whether it is fetched to memory
// or to disk, that is found, and that map alone runs again, once.
func TestFlippedMapOutput(t *testing.T) {
	require.Faults(t)
	runs := 3
	if require.Stressed() {
		runs = 50
	}
	for name, cfg := range map[string]rigConfig{
		"memory": {workers: 3, splits: 12, reducers: 3},
		"disk":   {workers: 3, splits: 12, reducers: 1, lineBytes: 600, worker: func(c *worker.Config) { c.Sort = 16 << 20 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, cfg)
			for i := range runs {
				rng := rand.New(rand.NewPCG(uint64(i), 29))
				release := r.holdLast()
				id := r.submit(wire.JobSpec{Slowstart: 1})
				r.Wait("all maps but one are done", func() bool { return r.Status(id).Maps.Done == cfg.splits-1 })
				bad := rng.IntN(cfg.splits - 1)
				flipByte(t, r.outputFile(id, bad), rng)
				release()
				r.succeed(id)
				launched := r.launched(id, wire.MapTask)
				if got, want := again(launched), (map[int32]bool{int32(bad): true}); !maps.Equal(got, want) || launched[int32(bad)] != 2 {
					t.Errorf("run %d: map %d was damaged, started were %v", i, bad, launched)
				}
			}
		})
	}
}

// TestEachReduceFindsOtherDamage: of the outputs of three maps, each is damaged in the share of another reduce. Each reduce is believed alone, and just these maps run again, once.
func TestEachReduceFindsOtherDamage(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	r := newRig(t, rigConfig{workers: 3, splits: 12, reducers: 3})
	release := r.holdLast()
	id := r.submit(wire.JobSpec{Slowstart: 1})
	r.Wait("all maps but one are done", func() bool { return r.Status(id).Maps.Done == 11 })
	for i := range 3 {
		flipAt(t, r.outputFile(id, i), (float64(i)+0.5)/3, 1) // the shares lie one behind the other
	}
	release()
	r.succeed(id)
	if got, want := again(r.launched(id, wire.MapTask)), (map[int32]bool{0: true, 1: true, 2: true}); !maps.Equal(got, want) {
		t.Errorf("maps %v ran again, damaged were %v", got, want)
	}
}

// proxied makes others reach each worker through a proxy.
func proxied(t *testing.T, proxies *[]*proxy) func(c *worker.Config) {
	return func(c *worker.Config) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Error(err)
			return
		}
		p := newProxy(t, l.Addr().String())
		c.Listener, c.Advertise, c.FetchStall = l, p.addr(), 200*time.Millisecond
		*proxies = append(*proxies, p)
	}
}

// TestHarmInFlight is FAULTS row 30: bytes of the shuffle are flipped, doubled or cut off on their way, at every place of an
// answer sooner or later. The job fetches again, and what was damaged is never reduced.
func TestHarmInFlight(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	places := 20
	if require.Stressed() {
		places = 1000
	}
	var proxies []*proxy
	// Two of them: what a worker has itself it does not fetch.
	r := newRig(t, rigConfig{workers: 2, splits: 8, reducers: 2, worker: proxied(t, &proxies)})
	for _, kind := range []string{"flip", "cut", "double"} {
		var hurt atomic.Int64
		for i := range places / 4 {
			// The first four answers of a run are hurt, each at another place: in its header, in the head of a
			// segment, in records.
			harm := func(request int, at int64, piece []byte) bool {
				place := int64((i*4 + request) * 197 % 4096)
				if request > 4 || place < at || place >= at+int64(len(piece)) {
					return true
				}
				hurt.Add(1)
				switch k := int(place - at); kind {
				case "flip":
					piece[k] ^= 1 << (place % 8)
				case "cut":
					return false
				case "double":
					copy(piece[k:], append([]byte{piece[k]}, piece[k:]...))
				}
				return true
			}
			for _, p := range proxies {
				p.setHarm(harm)
			}
			r.succeed(r.submit(wire.JobSpec{}))
		}
		t.Logf("%s: %d answers were hurt", kind, hurt.Load())
		if hurt.Load() == 0 {
			t.Errorf("%s: nothing was hurt", kind)
		}
	}
}

// TestSlowSource is FAULTS row 32: one worker of four sends at 0.16 Mbit/s, so that it is slow also beside others on a busy
// machine. Its maps are done again elsewhere, nobody else's are, and the reason names it.
func TestSlowSource(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	const rate = 20e3 // bytes a second
	var mu sync.Mutex // guards links
	links := map[wire.NodeName]*proxy{}
	r := newRig(t, rigConfig{workers: 4, splits: 12, reducers: 6, lineBytes: 1000, worker: func(c *worker.Config) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Error(err)
			return
		}
		p := newProxy(t, l.Addr().String())
		c.Listener, c.Advertise, c.FetchStall = l, p.addr(), 20*time.Second
		mu.Lock()
		links[c.Node] = p
		mu.Unlock()
	}})
	links["w2"].setHarm(func(_ int, _ int64, piece []byte) bool {
		time.Sleep(time.Duration(float64(len(piece)) / rate * float64(time.Second)))
		return true
	})
	begin := time.Now()
	id := r.submit(wire.JobSpec{})
	r.succeed(id)
	took := time.Since(begin)
	slow := 0
	for _, e := range r.events(id) {
		if e.Kind != wire.PastOutputLost {
			continue
		}
		if slow++; !strings.Contains(e.Text, "node w2 is slow") {
			t.Errorf("the output of map %d was given up: %s", e.Index, e.Text)
		}
	}
	t.Logf("%s, without faults %s; %d maps of the slow node were done again", took, r.took, slow)
	if slow == 0 {
		t.Error("nobody noticed")
	}
}

// TestResurrectedSource: a worker stands still in the middle of what it sends to reduces, and is given up; its maps are done
// again elsewhere and fetched; then it goes on with what it was sending. No map is reduced twice.
func TestResurrectedSource(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	var mu sync.Mutex // guards data and talk
	data, talk := map[wire.NodeName]*proxy{}, map[wire.NodeName]*proxy{}
	r := newRig(t, rigConfig{
		workers: 4, splits: 12, reducers: 4, lineBytes: 100,
		master: func(c *master.Config) { c.Jobs.Silence = 2 * time.Second },
		worker: func(c *worker.Config) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Error(err)
				return
			}
			p, q := newProxy(t, l.Addr().String()), newProxy(t, c.Master)
			c.Listener, c.Advertise, c.Master, c.FetchStall = l, p.addr(), q.addr(), time.Minute
			mu.Lock()
			data[c.Node], talk[c.Node] = p, q
			mu.Unlock()
		},
	})
	still, caught := make(chan struct{}), make(chan struct{}, 1000)
	victim := wire.NodeName("w2")
	data[victim].setHarm(func(_ int, at int64, _ []byte) bool {
		if at > 0 { // the beginning goes through
			caught <- struct{}{}
			<-still
		}
		return true
	})
	release := r.holdLast()
	id := r.submit(wire.JobSpec{Slowstart: 0.01})
	r.Wait("all maps but one are done", func() bool { return r.Status(id).Maps.Done == 11 })
	select {
	case <-caught:
	case <-time.After(20 * time.Second):
		t.Log("no reduce had begun to fetch there")
	}
	talk[victim].freeze(true)
	r.Wait("it is given up", func() bool {
		for _, n := range r.Nodes() {
			if n.Node == victim {
				return n.State == "down"
			}
		}
		return false
	})
	r.Wait("its maps are done again", func() bool { return r.Status(id).Maps.Done == 11 && len(r.mapsOn(id, victim)) == 0 })
	time.Sleep(500 * time.Millisecond) // for reduces to fetch them
	close(still)
	time.Sleep(500 * time.Millisecond) // for the rest of what it was sending
	talk[victim].freeze(false)
	release()
	r.succeed(id)
}
