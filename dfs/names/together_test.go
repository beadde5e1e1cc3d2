package names

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestTogether calls everything at once, with checkpoints running; the race detector
// and the audit at the end look on.
func TestTogether(t *testing.T) {
	r := newRig(t)
	r.cfg.CheckpointEvery = 40
	r.open()
	for i := range 4 {
		r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), fmt.Sprintf("r%d", i%2), 1<<39)
	}
	must(t, r.s.Tick())
	var wg sync.WaitGroup
	for client := range 6 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(client), 4))
			for range 150 {
				if err := r.anything(rng, client); err != nil && wire.KindOf(err) == wire.Internal {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r.s.audit(t)
	if err := r.s.CheckpointError(); err != nil {
		t.Error(err)
	}
	before := r.s.dump()
	r.restart()
	if after := r.s.dump(); after != before {
		t.Errorf("before the restart\n%s\nafter it\n%s", before, after)
	}
}

// anything makes one random call. Each client writes its own files.
func (r *rig) anything(rng *rand.Rand, client int) (err error) {
	name := fmt.Sprintf("/c%d/f%d", client, rng.IntN(5))
	holder := fmt.Sprintf("h%d", client)
	node := wire.NodeName(fmt.Sprintf("n%d", rng.IntN(4)))
	switch rng.IntN(12) {
	case 0, 1, 2:
		f, err := r.s.Create(wire.CreateRequest{Path: name, User: holder, Holder: holder, Parents: true, Overwrite: true, BlockSize: 100})
		if err != nil {
			return err
		}
		p, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: holder, Writer: node})
		if err != nil {
			return err
		}
		last := p.Block
		last.Len = 10
		var stored []wire.NodeName
		for _, place := range p.Places {
			stored = append(stored, place.Node)
		}
		_, err = r.s.Complete(wire.CompleteRequest{File: f.File.ID, Holder: holder, Last: &last, Stored: stored})
		return err
	case 3:
		return r.s.Delete(wire.DeleteRequest{Path: name})
	case 4:
		_, err = r.s.Rename(wire.RenameRequest{From: name, To: name + "x", Replace: true})
	case 5:
		_, err = r.s.Locate(wire.LocateRequest{Path: name, Len: -1, Reader: node})
	case 6:
		_, err = r.s.List(wire.ListRequest{Path: fmt.Sprintf("/c%d", rng.IntN(6))})
	case 7:
		_, err = r.s.Fsck(wire.FsckRequest{Path: "/"})
	case 8:
		_, err = r.s.Beat(wire.BeatRequest{Node: node, Session: r.nodes[node].session, Volumes: r.nodes[node].req.Volumes})
	case 9:
		err = r.s.Tick()
	case 10:
		r.s.Nodes()
		_, err = r.s.SafeMode(wire.SafeModeRequest{})
	case 11:
		_, err = r.s.Usage(wire.QuotaRequest{Path: "/"})
	}
	return err
}

// A checkpoint that cannot be written is told, tried again, and loses nothing.
func TestCheckpointFails(t *testing.T) {
	r := newRig(t)
	r.open()
	_, err := r.s.Mkdir(wire.MkdirRequest{Path: "/a"})
	must(t, err)
	must(t, r.s.db.Close())
	if err := r.s.Checkpoint(); err == nil || r.s.CheckpointError() == nil {
		t.Error("a checkpoint on a closed file succeeded")
	}
	_, err = r.s.Mkdir(wire.MkdirRequest{Path: "/b"})
	must(t, err)
	if err := r.s.Close(); err == nil {
		t.Error("closing says nothing of the failed checkpoint")
	}
	r.now += time.Second
	r.open()
	for _, path := range []string{"/a", "/b"} {
		if _, err := r.s.Stat(wire.PathRequest{Path: path}); err != nil {
			t.Error(err)
		}
	}
}
