package dfstest_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// quickKeys makes block tokens end, and keys change, many times in a test.
func quickKeys(c *names.Config) { c.KeyEvery, c.TokenLife = 400*time.Millisecond, time.Second }

// TestTokensEndInMidRead: a file is read and another written, slowly, while the keys of block tokens change, the name service
// and a node are restarted, and every token that the reader was given at first ends.
func TestTokensEndInMidRead(t *testing.T) {
	t.Parallel()
	c := dfstest.Start(t, dfstest.Config{Nodes: 3, Names: quickKeys})
	data := dfstest.Noise(1, 40_000)
	cl := c.Client("")
	check(t, dfstest.Put(cl, "/in", data, dfs.CreateOptions{BlockSize: 2000, Replication: 2}))
	c.Healthy()
	loc, err := cl.Locate(t.Context(), "/in", 0, -1)
	check(t, err)
	f, err := cl.Open(t.Context(), "/in")
	check(t, err)
	defer f.Close()
	out, err := cl.Create(t.Context(), "/out", dfs.CreateOptions{BlockSize: 2000})
	check(t, err)
	var got bytes.Buffer
	for i := range 20 {
		switch i {
		case 5:
			c.StopNames()
			c.StartNames()
		case 10:
			c.Nodes[1].Stop()
			c.Nodes[1].Start()
		}
		_, err := io.CopyN(io.MultiWriter(&got, out), f, 2000)
		check(t, err)
		time.Sleep(100 * time.Millisecond)
	}
	check(t, out.Close())
	if !bytes.Equal(got.Bytes(), data) {
		t.Error("other bytes were read")
	}
	dfstest.WantFile(t, cl, "/out", data)
	rc := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer rc.Close()
	b := loc.Blocks[0]
	if in, err := pipe.Fetch(t.Context(), rc, c.Names.Nodes()[0].Place, pipe.Range{Block: b.Block, Len: b.Len, Token: b.Token}); err == nil {
		in.Close()
		t.Error("the first token is still good")
	} else if k := wire.KindOf(err); k != wire.Stale && k != wire.Unavailable {
		t.Errorf("the first token: %v", err)
	}
}

// TestNodeSpeaksForItself: a node cannot register, report or beat under another's name.
func TestNodeSpeaksForItself(t *testing.T) {
	t.Parallel()
	c := dfstest.Start(t, dfstest.Config{Nodes: 1})
	rc := rpc.NewClient(rpc.ClientConfig{Node: "n9"})
	defer rc.Close()
	_, err1 := api.DFSRegister.Call(t.Context(), rc, c.Addr, wire.RegisterRequest{Node: "n1"})
	_, err2 := api.DFSReport.Call(t.Context(), rc, c.Addr, wire.ReportRequest{Node: "n1"})
	_, err3 := api.DFSBeat.Call(t.Context(), rc, c.Addr, wire.BeatRequest{Node: "n1"})
	for i, err := range []error{err1, err2, err3} {
		if wire.KindOf(err) != wire.Denied || err == nil {
			t.Error(fmt.Sprint("call ", i+1), err)
		}
	}
}
