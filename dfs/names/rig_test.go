package names

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "pgregory.net/rapid" // its flags

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

func TestMain(m *testing.M) {
	if !require.Stressed() {
		if err := flag.Set("rapid.checks", "25"); err != nil { // each syncs a real disk many times
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// smallJournal keeps the reserve from filling the memory of tests.
var smallJournal = journal.Config{SegmentBytes: 16 << 10, MaxRecord: 64 << 10, MaxBatch: 64 << 10, ReserveBytes: 1}

// A rig is a service on a disk in memory, under a clock that the test moves, with nodes
// that obey their commands.
type rig struct {
	t     testing.TB
	s     *Service
	cfg   Config
	disk  disk.FS
	now   time.Duration
	wall  time.Time
	nodes map[wire.NodeName]*worker
	log   []string // what nodes were told to do
	mute  bool     // recoveries fail instead of finding nothing
}

// A worker is the other side of the protocol: what a node has on its disk.
type worker struct {
	req      wire.RegisterRequest
	session  uint64
	up       bool
	has      map[wire.BlockID]wire.Block
	bad      map[wire.BlockID]bool
	received []wire.Block
	deleted  []wire.Block
	accused  []wire.BadBlock
	failed   []wire.DoneWork
	done     []wire.Recovered
	refuse   bool // copies to it fail
	weighed  bool // its volume is as full as what it has
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, disk: memdisk.New(), wall: time.UnixMilli(1_700_000_000_000), nodes: map[wire.NodeName]*worker{}}
	r.cfg = DefaultConfig()
	r.cfg.Checkpoint = filepath.Join(t.TempDir(), "names.db")
	r.cfg.Journal = smallJournal
	r.cfg.Groups = func(string) []string { return []string{"supergroup"} } // tests of rights say otherwise
	r.cfg.CheckpointEvery = 1 << 30                                        // tests say when
	r.cfg.Now = func() time.Duration { return r.now }
	r.cfg.Wall = func() time.Time { return r.wall }
	r.cfg.First = func(int64, uint64) uint64 { return 0 } // small numbers, which stories can name
	r.cfg.Rand = rand.New(rand.NewPCG(1, 1))
	t.Cleanup(func() {
		if r.s != nil {
			r.s.Close()
		}
	})
	return r
}

func (r *rig) open() {
	r.t.Helper()
	r.cfg.Disk = r.disk
	s, err := Open(r.cfg)
	must(r.t, err)
	r.s = s
}

// restart closes and opens the service; nodes notice with their next heartbeat.
func (r *rig) restart() {
	r.t.Helper()
	must(r.t, r.s.Close())
	r.open()
}

// addNode registers a node with one volume.
func (r *rig) addNode(name wire.NodeName, rack string, free int64) {
	w := &worker{has: map[wire.BlockID]wire.Block{}, bad: map[wire.BlockID]bool{}}
	w.req = wire.RegisterRequest{Node: name, Rack: rack, Addr: string(name) + ":1", Volumes: []wire.Volume{{ID: "v", Total: 1 << 40, Free: free}}}
	r.nodes[name] = w
	r.startNode(name)
}

// startNode registers a node and sends its full report, in two pages.
func (r *rig) startNode(name wire.NodeName) {
	r.t.Helper()
	w := r.nodes[name]
	resp, err := r.s.Register(w.req)
	must(r.t, err)
	w.req.Cluster, w.session, w.up = resp.Cluster, resp.Session, true
	r.report(name)
	w.accused = nil
	for _, id := range slices.Sorted(maps.Keys(w.bad)) {
		w.accused = append(w.accused, wire.BadBlock{Block: w.has[id]})
	}
}

func (r *rig) report(name wire.NodeName) {
	r.t.Helper()
	w := r.nodes[name]
	w.received, w.deleted = nil, nil
	list := slices.SortedFunc(maps.Values(w.has), func(a, b wire.Block) int { return cmp.Compare(a.ID, b.ID) })
	half := len(list) / 2
	must(r.t, r.s.Report(wire.ReportRequest{Node: name, Session: w.session, Blocks: list[:half]}))
	must(r.t, r.s.Report(wire.ReportRequest{Node: name, Session: w.session, Page: 1, Last: true, Blocks: list[half:]}))
}

// step lets time pass: every half second all nodes beat and the service ticks.
func (r *rig) step(d time.Duration) {
	r.t.Helper()
	for end := r.now + d; r.now < end; {
		r.now += 500 * time.Millisecond
		for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
			r.beat(name)
		}
		must(r.t, r.s.Tick())
	}
}

func (r *rig) beat(name wire.NodeName) {
	r.t.Helper()
	w := r.nodes[name]
	if !w.up {
		return
	}
	if w.weighed {
		w.weigh()
	}
	req := wire.BeatRequest{Node: name, Session: w.session, Volumes: w.req.Volumes, Received: w.received, Deleted: w.deleted, Corrupt: w.accused, Failed: w.failed, Done: w.done}
	resp, err := r.s.Beat(req)
	must(r.t, err)
	w.received, w.deleted, w.failed, w.done = nil, nil, nil, nil
	if resp.Register {
		r.startNode(name)
		return
	}
	w.accused = nil
	if resp.Report {
		r.report(name)
	}
	r.obey(name, &resp)
}

// obey carries commands out.
func (r *rig) obey(name wire.NodeName, resp *wire.BeatResponse) {
	w := r.nodes[name]
	for _, b := range resp.Delete {
		r.log = append(r.log, fmt.Sprintf("%s deletes %d gen %d", name, b.ID, b.Gen))
		if has, ok := w.has[b.ID]; ok && has.Gen <= b.Gen {
			delete(w.has, b.ID)
			delete(w.bad, b.ID)
		}
		w.deleted = append(w.deleted, b)
	}
	for _, c := range resp.Copy {
		to := r.nodes[c.Targets[0].Node]
		b, ok := w.has[c.Block.ID]
		if !ok || w.bad[c.Block.ID] || b.Gen != c.Block.Gen || !to.up || to.refuse {
			r.log = append(r.log, fmt.Sprintf("%s cannot copy %d to %s", name, c.Block.ID, c.Targets[0].Node))
			w.failed = append(w.failed, wire.DoneWork{Block: c.Block, Target: c.Targets[0].Node, Why: "no"})
			continue
		}
		r.log = append(r.log, fmt.Sprintf("%s copies %d to %s", name, b.ID, c.Targets[0].Node))
		to.has[b.ID] = b
		to.received = append(to.received, b)
	}
	for _, rec := range resp.Recover {
		r.recover(name, rec)
	}
}

// recover brings the replicas of a block to their shortest length.
func (r *rig) recover(name wire.NodeName, work wire.RecoverWork) {
	b := wire.Block{ID: work.Block.ID, Gen: work.NewGen, Len: -1}
	var stored []wire.NodeName
	for _, p := range work.Places {
		if has, ok := r.nodes[p.Node].has[b.ID]; ok && r.nodes[p.Node].up {
			stored = append(stored, p.Node)
			if b.Len < 0 || has.Len < b.Len {
				b.Len = has.Len
			}
		}
	}
	r.log = append(r.log, fmt.Sprintf("%s recovers block %d among %d nodes", name, b.ID, len(work.Places)))
	if len(stored) == 0 {
		b.Len = 0
		if r.mute {
			r.nodes[name].failed = append(r.nodes[name].failed, wire.DoneWork{Block: work.Block, Why: "no"})
			return
		}
	}
	for _, n := range stored {
		r.nodes[n].has[b.ID] = b
	}
	r.nodes[name].done = append(r.nodes[name].done, wire.Recovered{Block: b, Stored: stored})
}

// takeLog returns what nodes were told since the last call.
func (r *rig) takeLog() string {
	text := strings.Join(r.log, "\n")
	r.log = nil
	if text != "" {
		text += "\n"
	}
	return text
}

// write stores a block on the nodes of its pipeline.
func (r *rig) write(p wire.Pipeline, size int64) (wire.Block, []wire.NodeName) {
	b := p.Block
	b.Len = size
	var stored []wire.NodeName
	for _, place := range p.Places {
		w := r.nodes[place.Node]
		w.has[b.ID] = b
		w.received = append(w.received, b)
		stored = append(stored, place.Node)
	}
	return b, stored
}

// put writes a whole file of blocks of 1,000 bytes.
func (r *rig) put(req wire.CreateRequest, blocks int, writer wire.NodeName) error {
	if req.Holder == "" {
		req.Holder = "client"
	}
	if req.BlockSize == 0 {
		req.BlockSize = 1000
	}
	resp, err := r.s.Create(req)
	if err != nil {
		return err
	}
	done := wire.CompleteRequest{File: resp.File.ID, Holder: req.Holder, CRC: 7}
	for range blocks {
		p, err := r.s.AddBlock(wire.AddBlockRequest{File: resp.File.ID, Holder: req.Holder, Writer: writer, Previous: done.Last, Stored: done.Stored})
		if err != nil {
			return err
		}
		b, stored := r.write(p, 1000)
		done.Last, done.Stored = &b, stored
	}
	_, err = r.s.Complete(done)
	return err
}
