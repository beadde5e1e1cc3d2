package blocks

import (
	"testing"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestNewcomersCatchUp: a node that joins the pipeline of a block which is half written fetches what the others have, whatever of it there is, and ends
// with the whole block; one that is told to fetch what nobody has refuses and keeps nothing.
func TestNewcomersCatchUp(t *testing.T) {
	data := content(9, 8*pipe.ChunkSize+77)
	client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer client.Close()
	for _, packets := range []int{1, 3} {
		nodes := startNodes(t, 2)
		b := wire.Block{ID: 9, Gen: 1, Len: int64(len(data))}
		s, err := openPipe(t, client, b, hopsTo(nodes[:1]), 0)
		if err != nil {
			t.Fatal(err)
		}
		off := 0
		for range packets {
			buf := new(pipe.Buffer)
			n := copy(buf.Room()[:pipe.ChunkSize], data[off:])
			p := buf.Seal(n, int64(off), false)
			if err := s.Send(&p); err != nil {
				t.Fatal(err)
			}
			off += n
		}
		if err := s.Wait(int64(off), false); err != nil {
			t.Fatal(err)
		}
		s.Close()
		b.Gen = 2
		hops := hopsTo(nodes)
		hops[1].From = &nodes[0].place
		if s, err = openPipe(t, client, b, hops, int64(off)); err != nil {
			t.Fatalf("after %d bytes: %v", off, err)
		}
		if err := stream(s, data, off, func(int) {}); err != nil {
			t.Fatalf("after %d bytes: %v", off, err)
		}
		s.Close()
		for _, n := range nodes {
			if err := check(n.store, b); err != nil {
				t.Errorf("after %d bytes: %s: %v", off, n.place.Node, err)
			}
		}
		gone := wire.Block{ID: 10, Gen: 2, Len: int64(len(data))}
		hops = hopsTo(nodes[1:])
		hops[0].From = &nodes[0].place
		if s, err := openPipe(t, client, gone, hops, int64(off)); err == nil {
			t.Errorf("%d bytes that nobody has were fetched", off)
			s.Close()
		}
		if n := nodes[1].store.Count(); n != 1 {
			t.Errorf("%d replicas are kept", n)
		}
	}
}
