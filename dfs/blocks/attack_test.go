package blocks

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/dfs/token"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestAttacksOnBlocks is FAULTS row 91: whoever has no token for just this is refused, and the replicas stay as they are.
func TestAttacksOnBlocks(t *testing.T) {
	nodes := startNodes(t, 2)
	b := wire.Block{ID: 4, Gen: 6, Len: 3*pipe.ChunkSize + 1}
	for _, n := range nodes {
		if err := put(n.store, b); err != nil {
			t.Fatal(err)
		}
	}
	high, other := wire.Block{ID: 4, Gen: 1 << 40, Len: b.Len}, wire.Block{ID: 5, Gen: 6, Len: b.Len}
	ended := testKey.Sign(token.Claim{Block: 4, Gen: 6, Op: token.Write, Holder: "user ann"})
	bob := testKey.Sign(token.Claim{Block: 4, Gen: 6, Op: token.Write, Holder: "user bob", Until: time.Hour})
	for name, a := range map[string]struct{ read, write pipe.WriteArgs }{
		"no token":            {pipe.WriteArgs{Block: b}, pipe.WriteArgs{Block: high}},
		"another block":       {pipe.WriteArgs{Block: b, Token: permit(other, token.Write)}, pipe.WriteArgs{Block: high, Token: permit(other, token.Write)}},
		"another generation":  {pipe.WriteArgs{Block: b, Token: permit(high, token.Read)}, pipe.WriteArgs{Block: high, Token: permit(b, token.Write)}},
		"another operation":   {pipe.WriteArgs{Block: b, Token: permit(b, 0)}, pipe.WriteArgs{Block: high, Token: permit(high, token.Read)}},
		"ended":               {pipe.WriteArgs{Block: b, Token: ended}, pipe.WriteArgs{Block: high, Token: ended}},
		"of another":          {pipe.WriteArgs{Block: b, Token: bob}, pipe.WriteArgs{Block: b, Token: bob}},
		"resumed, no token":   {pipe.WriteArgs{Block: b}, pipe.WriteArgs{Block: high, Resume: true}},
		"through another":     {pipe.WriteArgs{Block: b}, pipe.WriteArgs{Block: high, Next: hopsTo(nodes[1:])}},
		"fetched from itself": {pipe.WriteArgs{Block: b}, pipe.WriteArgs{Block: high, Start: 1, From: &nodes[1].place}},
	} {
		attack(t, name, nodes[0].place, a.read, a.write)
	}
	for _, n := range nodes {
		if err := check(n.store, b); err != nil {
			t.Errorf("%s after the attacks: %v", n.place.Node, err)
		}
		if got := n.store.changes.take(); len(got.Deleted) > 0 {
			t.Errorf("%s told the name service of deletions: %v", n.place.Node, got.Deleted)
		}
	}
}

// attack tries every way to a block, as ann and as a task of a job that is not there.
func attack(t *testing.T, name string, at wire.Place, read, write pipe.WriteArgs) {
	t.Helper()
	client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer client.Close()
	if s, err := pipe.Open(t.Context(), client, at, write, quick, nil); err == nil {
		s.Close() // hang up
		t.Errorf("%s: block.write was opened", name)
	}
	if in, err := pipe.Fetch(t.Context(), client, at, pipe.Range{Block: read.Block, Len: read.Block.Len, Token: read.Token}); err == nil {
		in.Close()
		t.Errorf("%s: the block was read", name)
	}
	for _, method := range []string{"block.local", "block.suspect"} {
		_, err := rpc.Call[wire.BlockRequest, struct{}](t.Context(), client, at.Addr, method, wire.BlockRequest{Block: read.Block, Token: read.Token})
		if k := wire.KindOf(err); err == nil || k != wire.Denied && k != wire.Stale {
			t.Errorf("%s: %s: %v", name, method, err)
		}
	}
	node := rpc.NewClient(rpc.ClientConfig{Node: "w9"})
	defer node.Close()
	for _, method := range []string{"block.inspect", "block.settle", "block.sum"} {
		_, err := rpc.Call[wire.BlockRequest, struct{}](t.Context(), node, at.Addr, method, wire.BlockRequest{Block: wire.Block{ID: 4, Gen: 1 << 40}, Token: read.Token})
		if k := wire.KindOf(err); err == nil || k != wire.Denied && k != wire.Stale {
			t.Errorf("%s: %s by a node: %v", name, method, err)
		}
	}
}

// TestPipelinesGoThroughMembers: ann, who may write a block, names an address of her own choice as the next of the pipeline, as the
// one after that, or as where the bytes before are. Nobody connects to it.
func TestPipelinesGoThroughMembers(t *testing.T) {
	nodes := startNodes(t, 2)
	trap, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	caught := make(chan struct{}, 10)
	go func() {
		for {
			c, err := trap.Accept()
			if err != nil {
				close(caught)
				return
			}
			c.Close()
			caught <- struct{}{}
		}
	}()
	client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer client.Close()
	there := wire.Place{Node: "n2", Addr: trap.Addr().String()}
	for i, a := range []pipe.WriteArgs{
		{Next: []pipe.Hop{{Place: there}}},
		{Next: append(hopsTo(nodes[1:]), pipe.Hop{Place: there})},
		{Start: 1, From: &there},
		{Start: 1, From: &nodes[1].place, Next: []pipe.Hop{{Place: nodes[1].place, From: &there}}},
	} {
		a.Block = wire.Block{ID: wire.BlockID(10 + i), Gen: 1, Len: 100}
		a.Token = permit(a.Block, token.Write)
		s, err := pipe.Open(t.Context(), client, nodes[0].place, a, quick, nil)
		if err == nil {
			s.Close()
		}
		if wire.KindOf(err) != wire.Denied || !strings.Contains(err.Error(), "is no node") {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := trap.Close(); err != nil {
		t.Fatal(err)
	}
	for range caught {
		t.Error("a worker connected to an address that ann gave")
	}
}

// TestReplacedOnlyByAWholeOne: a newer generation that is begun and given up, however, leaves the replica that is here; one
// that is finished takes its place.
func TestReplacedOnlyByAWholeOne(t *testing.T) {
	b, next := wire.Block{ID: 7, Gen: 1, Len: 1000}, wire.Block{ID: 7, Gen: 2, Len: 1000}
	for name, end := range map[string]func(s *Store, w *Writer) error{
		"left":      func(*Store, *Writer) error { return nil },
		"discarded": func(_ *Store, w *Writer) error { w.Discard(); return nil },
		"begun again": func(s *Store, _ *Writer) error {
			_, err := s.Begin(wire.Block{ID: 7, Gen: 3}, 1000)
			return err
		},
		"resumed": func(s *Store, _ *Writer) error {
			_, err := s.Resume(7, 3, 0, 1000)
			return err
		},
		"deleted by an older order": func(s *Store, _ *Writer) error { return s.Delete(wire.Block{ID: 7}) },
	} {
		t.Run(name, func(t *testing.T) {
			d := memdisk.New()
			s := openOn(t, d)
			if err := put(s, b); err != nil {
				t.Fatal(err)
			}
			s.changes.take()
			w, err := s.Begin(next, 1000)
			if err == nil {
				err = end(s, w)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := check(s, b); err != nil {
				t.Errorf("the old replica: %v", err)
			}
			if _, err := s.Path(b.ID, b.Gen); err != nil {
				t.Errorf("for a reader on this machine: %v", err)
			}
			if list := s.List(); len(list) != 1 || list[0] != b || s.Count() != 1 {
				t.Errorf("would report %v", list)
			}
			if err := s.Verify(b.ID, func(int) {}); err != nil {
				t.Errorf("the scrubber: %v", err)
			}
			if n := s.changes.take(); name != "deleted by an older order" && len(n.Deleted) > 0 {
				t.Errorf("reported as deleted: %v", n.Deleted)
			}
			if err := check(openOn(t, d), b); err != nil {
				t.Errorf("after a restart: %v", err)
			}
		})
	}
}

// TestWholeOneReplaces: a newer generation that is finished takes the place of the old, whose file goes; and an order to
// delete takes both.
func TestWholeOneReplaces(t *testing.T) {
	b, next := wire.Block{ID: 7, Gen: 1, Len: 1000}, wire.Block{ID: 7, Gen: 2, Len: 1000}
	d := memdisk.New()
	s := openOn(t, d)
	for _, x := range []wire.Block{b, next} {
		if err := put(s, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := check(s, next); err != nil {
		t.Error(err)
	}
	if names, err := d.ReadDir(dirOf(b)); err != nil || len(names) != 1 {
		t.Errorf("files %v, %v", names, err)
	}
	if _, err := s.Begin(wire.Block{ID: 7, Gen: 3}, 1000); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(wire.Block{ID: 7, Gen: 3}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dirOf(b), tmpDir} {
		if names, err := d.ReadDir(dir); err != nil || len(names) != 0 {
			t.Errorf("%s after the delete: %v, %v", dir, names, err)
		}
	}
}
