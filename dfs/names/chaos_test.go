package names

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// TestChaos lets nodes die, come back, lose disks, rot and be drained, one at a time,
// with restarts of the service in between. No block may ever be without a good replica
// on some disk, and when all is quiet every block has exactly the replicas it should,
// in two racks.
func TestChaos(t *testing.T) {
	seeds := uint64(12)
	if require.Stressed() {
		seeds = 300
	}
	for seed := range seeds {
		c := &chaos{rig: newRig(t), rng: rand.New(rand.NewPCG(seed, 8)), seed: seed}
		c.cfg.Rand = c.rng
		c.open()
		for i := range 6 {
			c.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), fmt.Sprintf("r%d", i%3), 1<<39)
		}
		for range 40 {
			c.fault()
			c.check()
		}
		c.quiet()
		must(t, c.s.Close())
	}
}

type chaos struct {
	*rig
	rng  *rand.Rand
	seed uint64
	down wire.NodeName
}

func (c *chaos) node() wire.NodeName { return wire.NodeName(fmt.Sprintf("n%d", c.rng.IntN(6))) }

func (c *chaos) fault() {
	name := fmt.Sprintf("/f%d", c.rng.IntN(8))
	switch c.rng.IntN(9) {
	case 0, 1:
		err := c.put(wire.CreateRequest{Path: name, Replication: 2 + c.rng.IntN(2), Overwrite: c.rng.IntN(2) == 0}, 1+c.rng.IntN(3), c.node())
		if err != nil && wire.KindOf(err) != wire.Exists && wire.KindOf(err) != wire.Unavailable {
			c.t.Fatalf("seed %d: %v", c.seed, err)
		}
	case 2:
		if err := c.s.Delete(wire.DeleteRequest{Path: name}); err != nil && wire.KindOf(err) == wire.Internal {
			c.t.Fatal(err)
		}
	case 3:
		if c.down == "" {
			c.down = c.node()
			c.nodes[c.down].up = false
		}
	case 4:
		if c.down != "" {
			if c.rng.IntN(3) == 0 { // with an empty disk
				c.settled()
				clear(c.nodes[c.down].has)
				clear(c.nodes[c.down].bad)
			}
			c.startNode(c.down)
			c.down = ""
		}
	case 5:
		c.settled()
		n := c.node()
		for _, id := range slices.Sorted(maps.Keys(c.nodes[n].has)) {
			b := c.nodes[n].has[id]
			if c.nodes[n].up && !c.nodes[n].bad[id] {
				c.nodes[n].bad[id] = true
				c.nodes[n].accused = append(c.nodes[n].accused, wire.BadBlock{Block: b})
				break
			}
		}
	case 6:
		if _, err := c.s.Drain(wire.DrainRequest{Node: c.node(), Undo: c.rng.IntN(2) == 0}); err != nil && wire.KindOf(err) == wire.Internal {
			c.t.Fatal(err)
		}
	case 7:
		c.restart()
	}
	c.step(time.Duration(c.rng.IntN(8000)) * time.Millisecond)
}

// settled waits until one more loss is bearable.
func (c *chaos) settled() { c.step(40 * time.Second) }

// good counts the replicas of a block on disks, and their racks.
func (c *chaos) good(b wire.Block) (n int, racks map[string]bool) {
	racks = map[string]bool{}
	for _, w := range c.nodes {
		if w.has[b.ID] == b && !w.bad[b.ID] {
			n++
			racks[w.req.Rack] = true
		}
	}
	return n, racks
}

// check wants a good replica of every finished block on some disk.
func (c *chaos) check() {
	c.t.Helper()
	c.s.audit(c.t)
	for id, b := range c.s.blocks {
		if b.building != nil {
			continue
		}
		if n, _ := c.good(b.Block); n == 0 {
			c.t.Fatalf("seed %d: block %d of %s is lost", c.seed, id, b.owner.path())
		}
	}
}

// quiet brings everybody back and wants everything in order.
func (c *chaos) quiet() {
	c.t.Helper()
	if c.down != "" {
		c.startNode(c.down)
	}
	for i := range 6 {
		_, err := c.s.Drain(wire.DrainRequest{Node: wire.NodeName(fmt.Sprintf("n%d", i)), Undo: true})
		must(c.t, err)
	}
	c.step(90 * time.Second)
	for id, b := range c.s.blocks {
		n, racks := c.good(b.Block)
		if b.building == nil && (n != int(b.owner.file.replicas) || len(racks) < 2) {
			c.t.Fatalf("seed %d: block %d of %s has %d replicas of %d in racks %v", c.seed, id, b.owner.path(), n, b.owner.file.replicas, racks)
		}
	}
	for name, w := range c.nodes {
		for id := range w.has {
			if c.s.blocks[id] == nil {
				c.t.Fatalf("seed %d: %s still has block %d, whose file is gone", c.seed, name, id)
			}
		}
	}
	resp, err := c.s.Fsck(wire.FsckRequest{Path: "/"})
	must(c.t, err)
	for _, f := range resp.Files {
		if f.Status != "open" {
			c.t.Fatalf("seed %d: %s is %s: %s", c.seed, f.Path, f.Status, f.Problem)
		}
	}
}

// Row 59: jumps of the wall clock change nothing but modification times: nodes get the
// same commands at the same times, leases end when they should.
func TestClockJumps(t *testing.T) {
	story := func(jump func(*rig, int)) string {
		r := newRig(t)
		r.cfg.LeaseTimeout = 5 * time.Second
		r.open()
		for i := range 5 {
			r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), fmt.Sprintf("r%d", i%2), 1<<39)
		}
		for i := range 12 {
			jump(r, i)
			must(t, r.put(wire.CreateRequest{Path: fmt.Sprintf("/f%d", i)}, 1, ""))
			f, err := r.s.Create(wire.CreateRequest{Path: fmt.Sprintf("/open%d", i), Holder: fmt.Sprint(i), BlockSize: 1000})
			must(t, err)
			p, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: fmt.Sprint(i)})
			must(t, err)
			r.write(p, 10)
			r.nodes["n0"].up = i%6 < 3
			jump(r, i)
			r.step(4 * time.Second)
			r.log = append(r.log, fmt.Sprint(r.now, len(r.s.holders)))
		}
		must(t, r.s.Close())
		return r.takeLog()
	}
	calm := story(func(*rig, int) {})
	wild := story(func(r *rig, i int) { r.wall = r.wall.Add(time.Duration(i%3-1) * 1000 * time.Hour) })
	if calm != wild || !strings.Contains(calm, "recovers") || !strings.Contains(calm, "copies") {
		t.Errorf("without jumps\n%s\nwith jumps\n%s", calm, wild)
	}
}
