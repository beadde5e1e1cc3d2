package blocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/dfs/token"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// A node is a block service on loopback. It has no name service: the tests say what to do.
type node struct {
	*Service
	store *Store
	disk  *memdisk.FS
	place wire.Place
	stop  func()
}

var quick = pipe.Timing{Ack: 2 * time.Second}

func startNodes(t testing.TB, n int) []*node {
	t.Helper()
	var out []*node
	for i := range n {
		d := memdisk.New()
		store, err := OpenStore(StoreConfig{Node: wire.NodeName(fmt.Sprint("n", i+1)), Dirs: []Dir{{"d", d}}, NewID: func() string { return "v" }})
		if err != nil {
			t.Fatal(err)
		}
		name := store.cfg.Node
		client := rpc.NewClient(rpc.ClientConfig{Node: string(name)})
		svc := NewService(store, Config{Node: name, Client: client, Timing: quick, Names: Remote{client, "127.0.0.1:1"}})
		svc.keys.Add(testKeys, 0)
		addr, stop := rpctest.Serve(t, svc.Register)
		svc.cfg.Addr = addr
		nd := &node{Service: svc, store: store, disk: d, place: wire.Place{Node: name, Addr: addr}}
		nd.stop = func() { client.Close(); stop() }
		t.Cleanup(nd.stop)
		out = append(out, nd)
	}
	var all []wire.StoreNode
	for _, nd := range out {
		all = append(all, wire.StoreNode{Place: nd.place})
	}
	for _, nd := range out {
		nd.members.learn(all)
		nd.members.asked = time.Since(nd.begin)
	}
	return out
}

// testKeys is what every service of these tests was told; testKey signs.
var (
	testKeys = []wire.BlockKey{{ID: 1, Secret: []byte("of these tests"), Age: time.Minute, Life: 3 * time.Hour}}
	testKey  = token.NewKey(1, testKeys[0].Secret)
)

// permit is ann's leave to touch a block.
func permit(b wire.Block, op token.Op) string {
	return testKey.Sign(token.Claim{Block: b.ID, Gen: b.Gen, Op: op, Holder: "user ann", Until: time.Hour})
}

// openPipe opens a pipeline through hops.
func openPipe(t *testing.T, client *rpc.Client, b wire.Block, hops []pipe.Hop, start int64) (*pipe.Sender, error) {
	a := pipe.WriteArgs{Block: b, Start: start, Resume: start > 0, From: hops[0].From, Next: hops[1:], Token: permit(b, token.Write)}
	return pipe.Open(t.Context(), client, hops[0].Place, a, quick, nil)
}

func hopsTo(nodes []*node) []pipe.Hop {
	var out []pipe.Hop
	for _, n := range nodes {
		out = append(out, pipe.Hop{Place: n.place})
	}
	return out
}

// stream sends data from off on and ends the block; between is called before each packet.
func stream(s *pipe.Sender, data []byte, off int, between func(i int)) error {
	for i := 0; ; i++ {
		between(i)
		buf := new(pipe.Buffer)
		n := copy(buf.Room(), data[off:])
		p := buf.Seal(n, int64(off), off+n == len(data))
		if err := s.Send(&p); err != nil {
			return err
		}
		if off += n; p.Last {
			return s.Wait(int64(off), true)
		}
	}
}

func TestPipeline(t *testing.T) {
	nodes := startNodes(t, 3)
	client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer client.Close()
	for i, n := range []int{0, 1, pipe.ChunkSize, 20*pipe.ChunkSize + 5} {
		b := wire.Block{ID: wire.BlockID(i + 1), Gen: 1, Len: int64(n)}
		s, err := openPipe(t, client, b, hopsTo(nodes), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream(s, content(b.ID, n), 0, func(int) {}); err != nil {
			t.Fatal(b, err)
		}
		s.Close()
		for _, nd := range nodes {
			if err := check(nd.store, b); err != nil {
				t.Error(b, nd.place.Node, err)
			}
			if n == 0 {
				continue
			}
			r, err := pipe.Fetch(t.Context(), client, nd.place, pipe.Range{Block: b, Len: b.Len, Token: permit(b, token.Read)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if r.Close(); err != nil || !bytes.Equal(got, content(b.ID, n)) {
				t.Errorf("%v from %s: %d bytes, %v", b, nd.place.Node, len(got), err)
			}
		}
	}
}

// TestBrokenPipelines: whichever replica fails, and however, it is the one that is blamed,
// and the others can go on from what was acknowledged.
func TestBrokenPipelines(t *testing.T) {
	data := content(9, 8*pipe.ChunkSize+77)
	faults := map[string]func(n *node){
		"dies":      func(n *node) { n.stop() },
		"disk full": func(n *node) { n.disk.SetLimit(1) },
		"disk broken": func(n *node) {
			n.disk.SetFail(func(op, _ string, _ int) error {
				if op == "sync" || op == "write" {
					return errors.New("input/output error")
				}
				return nil
			})
		},
	}
	for name, fault := range faults {
		for at := range 3 {
			for _, when := range []int{0, 4, 8} {
				t.Run(fmt.Sprintf("%s/replica %d/packet %d", name, at+1, when), func(t *testing.T) {
					t.Parallel()
					tryBroken(t, data, at, when, fault)
				})
			}
		}
	}
}

func tryBroken(t *testing.T, data []byte, at, when int, fault func(n *node)) {
	nodes := startNodes(t, 4)
	client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer client.Close()
	b := wire.Block{ID: 9, Gen: 1, Len: int64(len(data))}
	s, err := openPipe(t, client, b, hopsTo(nodes[:3]), 0)
	if err != nil {
		t.Fatal(err)
	}
	err = stream(s, data, 0, func(i int) {
		if i == when {
			fault(nodes[at])
		}
	})
	acked, _, _ := s.State()
	s.Close()
	br, ok := errors.AsType[*pipe.Broken](err)
	if !ok || br.At != at {
		t.Fatalf("blamed %+v, should be replica %d", err, at+1)
	}
	// The others go on, with a fresh node at the end.
	var alive []*node
	for i, n := range nodes[:3] {
		if i != at {
			alive = append(alive, n)
		}
	}
	hops := append(hopsTo(alive), pipe.Hop{Place: nodes[3].place})
	if acked > 0 {
		hops[2].From = &alive[0].place
	}
	b.Gen = 2
	if s, err = openPipe(t, client, b, hops, acked); err != nil {
		t.Fatalf("after %d bytes: %v", acked, err)
	}
	defer s.Close()
	if err := stream(s, data, int(acked), func(int) {}); err != nil {
		t.Fatal(err)
	}
	for _, n := range append(alive, nodes[3]) {
		if err := check(n.store, b); err != nil {
			t.Error(n.place.Node, err)
		}
	}
}

// TestFailedReadsAreLookedInto: whichever read of the disk fails while a replica is sent, the reader does not take what came for all of it, and the replica is
// looked into, once.
func TestFailedReadsAreLookedInto(t *testing.T) {
	n := startNodes(t, 1)[0]
	b := wire.Block{ID: 4, Gen: 6, Len: 3*pipe.ChunkSize + 1}
	if err := put(n.store, b); err != nil {
		t.Fatal(err)
	}
	failed := 0
	n.cfg.Event = func(e Event) {
		if e.What == "read failed" {
			failed++
		}
	}
	client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer client.Close()
	for at := 1; ; at++ {
		reads := 0
		n.disk.SetFail(func(op, _ string, _ int) error {
			if op != "read" {
				return nil
			}
			if reads++; reads == at {
				return syscall.EIO
			}
			return nil
		})
		was := failed
		r, err := pipe.Fetch(t.Context(), client, n.place, pipe.Range{Block: b, Len: b.Len, Token: permit(b, token.Read)})
		if err == nil {
			_, err = io.ReadAll(r)
			r.Close()
		}
		n.disk.SetFail(nil)
		if reads < at {
			if err != nil || failed != was {
				t.Errorf("no read fails: %v, %d are told", err, failed-was)
			}
			break
		}
		if err == nil || failed != was+1 {
			t.Errorf("read %d: %v, %d are told", at, err, failed-was)
		}
	}
	if failed < 4 {
		t.Errorf("only %d reads", failed)
	}
}

// TestAnswersHaveTheirLength: an answer says how long it is, the whole of it comes, and the connection serves the next.
func TestAnswersHaveTheirLength(t *testing.T) {
	n := startNodes(t, 1)[0]
	b := wire.Block{ID: 4, Gen: 6, Len: 3*pipe.ChunkSize + 1}
	if err := put(n.store, b); err != nil {
		t.Fatal(err)
	}
	client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer client.Close()
	for _, x := range [][2]int64{{0, b.Len}, {pipe.ChunkSize, pipe.ChunkSize}, {pipe.ChunkSize + 1, pipe.ChunkSize}, {3 * pipe.ChunkSize, 1}} {
		r := pipe.Range{Block: b, Off: x[0], Len: x[1], Token: permit(b, token.Read)}
		resp, err := client.Get(t.Context(), n.place.Addr, r.Path())
		if err != nil {
			t.Fatal(err)
		}
		from, to := pipe.Cover(b.Len, r.Off, r.Len)
		want := 4*int64(pipe.Chunks(to-from)) + to - from
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.ContentLength != want || int64(len(body)) != want {
			t.Errorf("%d bytes from %d: an answer of %d says %d, want %d: %v", r.Len, r.Off, len(body), resp.ContentLength, want, err)
		}
	}
}

func TestCopy(t *testing.T) {
	nodes := startNodes(t, 3)
	b := wire.Block{ID: 4, Gen: 6, Len: 3*pipe.ChunkSize + 1}
	if err := put(nodes[0].store, b); err != nil {
		t.Fatal(err)
	}
	nodes[0].copy(t.Context(), wire.CopyWork{Block: b, Token: permit(b, token.Write), Targets: []wire.Place{nodes[1].place, nodes[2].place}})
	for _, n := range nodes {
		if err := check(n.store, b); err != nil {
			t.Error(n.place.Node, err)
		}
	}
}

// TestRotIsNotCopied: a damaged source is found out, put aside, and spreads to nobody.
func TestRotIsNotCopied(t *testing.T) {
	nodes := startNodes(t, 2)
	b := wire.Block{ID: 4, Gen: 6, Len: 3*pipe.ChunkSize + 1}
	if err := put(nodes[0].store, b); err != nil {
		t.Fatal(err)
	}
	f, err := nodes[0].disk.Edit(dirOf(b) + "/" + fileName(b))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("rot"), 2*pipe.ChunkSize); err != nil {
		t.Fatal(err)
	}
	nodes[0].copy(t.Context(), wire.CopyWork{Block: b, Token: permit(b, token.Write), Targets: []wire.Place{nodes[1].place}})
	if _, err := nodes[0].store.Inspect(b.ID); wire.KindOf(err) != wire.NotFound {
		t.Errorf("the damaged source: %v", err)
	}
	n := nodes[0].store.changes.take()
	if len(n.Corrupt) != 1 || len(n.Failed) != 1 {
		t.Errorf("reported %+v", n)
	}
	for _, r := range nodes[1].store.List() {
		t.Errorf("%v was copied", r)
	}
}

// TestRecover: replicas of different lengths and states end up equal.
func TestRecover(t *testing.T) {
	data := content(3, 4*pipe.ChunkSize)
	for _, tt := range []struct {
		name     string
		chunks   []int // per node, -1 for none
		finished []bool
		want     int // chunks; -1 for none
		stored   int
	}{
		{"shortest", []int{4, 2, 3}, []bool{false, false, false}, 2, 3},
		{"empty ones do not count", []int{0, 3, 3}, []bool{false, false, false}, 3, 2},
		{"a finished one knows", []int{4, 2, 4}, []bool{true, false, true}, 4, 2},
		{"one gone", []int{-1, 2, 3}, []bool{false, false, false}, 2, 2},
		{"all gone", []int{-1, -1, -1}, []bool{false, false, false}, -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nodes := startNodes(t, 3)
			work := wire.RecoverWork{Block: wire.Block{ID: 3, Gen: 1}, NewGen: 5, Token: permit(wire.Block{ID: 3, Gen: 5}, token.Write)}
			for i, n := range nodes {
				work.Places = append(work.Places, n.place)
				if tt.chunks[i] < 0 {
					continue
				}
				w, err := n.store.Begin(work.Block, int64(len(data)))
				if err == nil {
					err = appendAll(w, data[:tt.chunks[i]*pipe.ChunkSize], 0)
				}
				if err == nil && tt.finished[i] {
					err = w.Finish()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			nodes[0].recover(context.Background(), work)
			done := nodes[0].store.changes.take().Done
			if len(done) != 1 || len(done[0].Stored) != tt.stored {
				t.Fatalf("recovered %+v", done)
			}
			b := wire.Block{ID: 3, Gen: 5, Len: int64(max(tt.want, 0) * pipe.ChunkSize)}
			if done[0].Block != b {
				t.Errorf("recovered %v, want %v", done[0].Block, b)
			}
			for _, n := range nodes {
				r, err := n.store.Inspect(3)
				if err == nil && r.Gen == 5 && (r.Block != b || !r.Finished) {
					t.Errorf("%s has %v", n.place.Node, r)
				}
			}
		})
	}
}
