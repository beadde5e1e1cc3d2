package blocks

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestOpeningsFillNothing is H4: 61 blocks of 1 GiB are opened on a disk of 4 GiB, and closed at once or left open. There is
// room for others all the while.
func TestOpeningsFillNothing(t *testing.T) {
	for _, hangUp := range []bool{true, false} {
		t.Run(fmt.Sprint("hang up ", hangUp), func(t *testing.T) {
			n := startNodes(t, 1)[0]
			n.disk.SetLimit(4 << 30)
			before := n.store.Volumes()[0].Free
			client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
			defer client.Close()
			for id := range wire.BlockID(61) {
				s, err := openPipe(t, client, wire.Block{ID: id + 1, Gen: 1, Len: 1 << 30}, hopsTo([]*node{n}), 0)
				if err != nil {
					t.Fatalf("opening %d: %v", id+1, err)
				}
				if hangUp {
					s.Close()
				} else {
					defer s.Close()
				}
			}
			want := before - 61*promiseStep - 1<<20
			if hangUp {
				want = before - 1<<20
			}
			for begin := time.Now(); n.store.Volumes()[0].Free < want; time.Sleep(time.Millisecond) {
				if time.Since(begin) > 10*time.Second {
					t.Fatalf("%d bytes were free, now %d", before, n.store.Volumes()[0].Free)
				}
			}
			if err := put(n.store, wire.Block{ID: 100, Gen: 1, Len: 3 * pipe.ChunkSize}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPromisesAreKept: what is promised is given back, however a writer ends, and a writer cannot write more than it said.
func TestPromisesAreKept(t *testing.T) {
	d := memdisk.New()
	s := openOn(t, d)
	pending := func() int64 { return s.volumes[0].pending.Load() }
	data := content(1, 3*promiseStep)
	for name, end := range map[string]func(w *Writer) error{
		"finished":  (*Writer).Finish,
		"discarded": func(w *Writer) error { w.Discard(); return nil },
		"left":      func(w *Writer) error { w.Leave(0); return nil },
		"resumed": func(*Writer) error {
			w, err := s.Resume(1, 2, 2*promiseStep, 3*promiseStep)
			if err == nil {
				err = appendAll(w, data, 2*promiseStep)
			}
			if err == nil {
				err = w.Finish()
			}
			return err
		},
	} {
		w, err := s.Begin(wire.Block{ID: 1, Gen: 1}, int64(len(data)))
		if err == nil {
			err = appendAll(w, data, 0)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		if err := w.Append([]byte("more"), 0); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("%s: longer than it said: %v", name, err)
		}
		if err := end(w); err != nil || pending() != 0 {
			t.Errorf("%s: %d bytes stay promised, %v", name, pending(), err)
		}
		if err := s.Delete(wire.Block{ID: 1, Gen: 9}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLeftReplicasAreSwept: a replica that nobody is connected to goes after a while; one that is being written, or was resumed,
// stays.
func TestLeftReplicasAreSwept(t *testing.T) {
	d := memdisk.New()
	s := openOn(t, d)
	begin := func(id wire.BlockID) *Writer {
		w, err := s.Begin(wire.Block{ID: id, Gen: 1}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	begin(1).Leave(time.Second)
	begin(2)
	begin(3).Leave(time.Second)
	begin(4).Leave(3 * time.Second)
	if _, err := s.Resume(3, 2, 0, 1000); err != nil {
		t.Fatal(err)
	}
	s.sweep(2 * time.Second)
	names, err := d.ReadDir(tmpDir)
	if err != nil || len(names) != 3 {
		t.Errorf("left in tmp: %v, %v", names, err)
	}
	if _, err := s.Inspect(1); wire.KindOf(err) != wire.NotFound {
		t.Errorf("the replica that was left: %v", err)
	}
}

// TestCopyReplacesHalfAReplica: a pipeline broke at this node and its file was closed without it; the copy that the name
// service orders has the same generation. It is refused only while somebody writes.
func TestCopyReplacesHalfAReplica(t *testing.T) {
	s := openOn(t, memdisk.New())
	b := wire.Block{ID: 7, Gen: 3, Len: 3 * pipe.ChunkSize}
	half, err := s.Begin(b, b.Len)
	if err != nil {
		t.Fatal(err)
	}
	if err := put(s, b); wire.KindOf(err) != wire.Exists {
		t.Errorf("while somebody writes: %v", err)
	}
	half.Leave(0)
	if err := put(s, b); err != nil {
		t.Errorf("after the writer has left: %v", err)
	}
	if r, err := s.Inspect(b.ID); err != nil || !r.Finished || r.Len != b.Len {
		t.Errorf("%+v, %v", r, err)
	}
	if n := s.volumes[0].pending.Load(); n != 0 {
		t.Errorf("%d bytes are still promised", n)
	}
}
