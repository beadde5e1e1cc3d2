package dfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

const small = 4 * pipe.ChunkSize // a block size for tests

func TestFilesComeOutAsTheyWentIn(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 4, Racks: 2})
	for name, cl := range map[string]*dfs.Client{"outside": c.Client(""), "on a node": c.Client("n2"), "inside a node": c.Client("", c.Nodes[1].Inside)} {
		for _, n := range []int{0, 1, pipe.ChunkSize, small - 1, small, small + 1, 3*small + 12345} {
			path := fmt.Sprintf("/%s/%d", name, n)
			data := dfstest.Noise(uint64(n), n)
			if err := dfstest.Put(cl, path, data, dfs.CreateOptions{BlockSize: small}); err != nil {
				t.Fatal(path, err)
			}
			dfstest.WantFile(t, cl, path, data)
			info, err := cl.Stat(t.Context(), path)
			if err != nil || info.Len != int64(n) || !info.HasCRC || info.CRC != pipe.Checksum(data) || info.Replication != 3 {
				t.Errorf("%s: %+v, %v", path, info, err)
			}
		}
	}
	c.Healthy()
}

func TestReadAnywhere(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	data := dfstest.Noise(1, 3*small+999)
	cl := c.Client("")
	if err := dfstest.Put(cl, "/f", data, dfs.CreateOptions{BlockSize: small}); err != nil {
		t.Fatal(err)
	}
	for _, cl := range []*dfs.Client{cl, c.Client("n1"), c.Client("n1", func(c *dfs.Config) { c.NoLocal = true })} {
		f, err := cl.Open(t.Context(), "/f")
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			off := rng.IntN(len(data))
			p := make([]byte, rng.IntN(2*small))
			n, err := f.ReadAt(p, int64(off))
			want := data[off:min(len(data), off+len(p))]
			if !bytes.Equal(p[:n], want) || (err == io.EOF) != (len(want) < len(p)) || err != nil && err != io.EOF { //nolint:errorlint // readers promise it bare
				t.Fatalf("%d bytes at %d: %d, %v", len(p), off, n, err)
			}
		}
		for range 20 {
			off := rng.IntN(len(data))
			length := rng.IntN(len(data))
			var got bytes.Buffer
			n, err := f.CopyRange(&got, int64(off), int64(length))
			if want := data[off:min(len(data), off+length)]; err != nil || n != int64(len(want)) || !bytes.Equal(got.Bytes(), want) {
				t.Fatalf("copy of %d bytes at %d: %d, %v", length, off, n, err)
			}
		}
		if _, err := f.Seek(-10, io.SeekEnd); err != nil {
			t.Fatal(err)
		}
		if tail, err := io.ReadAll(f); err != nil || !bytes.Equal(tail, data[len(data)-10:]) {
			t.Errorf("the end is %x, %v", tail, err)
		}
		f.Close()
	}
}

// A slowWriter takes its time for each piece, and fails when it has so many bytes.
type slowWriter struct {
	bytes.Buffer
	full int
}

func (w *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	if w.Len()+len(p) > w.full {
		n, _ := w.Buffer.Write(p[:w.full-w.Len()])
		return n, errors.New("no room")
	}
	return w.Buffer.Write(p)
}

func TestCopyToASlowWriter(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	data := dfstest.Noise(2, 24<<20+77)
	cl := c.Client("")
	if err := dfstest.Put(cl, "/f", data, dfs.CreateOptions{BlockSize: 5 << 20}); err != nil {
		t.Fatal(err)
	}
	for _, full := range []int{len(data), 20<<20 + 5, 3} {
		f, err := cl.Open(t.Context(), "/f")
		if err != nil {
			t.Fatal(err)
		}
		w := &slowWriter{full: full}
		n, err := f.WriteTo(w)
		if n != int64(full) || (err == nil) != (full == len(data)) || !bytes.Equal(w.Bytes(), data[:full]) {
			t.Errorf("%d bytes of %d, %v", n, full, err)
		}
		if at, err := f.Seek(0, io.SeekCurrent); at != n || err != nil {
			t.Errorf("reads on at %d after %d bytes, %v", at, n, err)
		}
		f.Close()
	}
}

// TestReplicasDieWhileWriting is FAULTS row 40: whichever replicas die, at whatever packet, the
// writer hears nothing of it while one lives, and there are three equal copies soon after.
func TestReplicasDieWhileWriting(t *testing.T) {
	packets, moments := 11, []int{0, 1, 5, 9, 11}
	if require.Stressed() {
		packets, moments = 64, nil
		for at := range packets + 1 {
			moments = append(moments, at)
		}
	}
	for _, victims := range [][]int{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}} {
		for _, at := range moments {
			t.Run(fmt.Sprintf("replicas %v at packet %d", victims, at), func(t *testing.T) {
				t.Parallel()
				c := dfstest.Start(t, dfstest.Config{Nodes: 6, Racks: 3})
				cl := c.Client("")
				if !slices.Contains(victims, 0) { // also from inside the first replica, which lives
					cl = c.Client("", c.Nodes[at%len(c.Nodes)].Inside)
				}
				data := dfstest.Noise(uint64(at), (packets-1)*pipe.ChunkSize+100)
				w, err := cl.Create(t.Context(), "/f", dfs.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(data); i += pipe.ChunkSize {
					if i/pipe.ChunkSize == at {
						killReplicas(t, c, w, victims)
					}
					if _, err := w.Write(data[i:min(len(data), i+pipe.ChunkSize)]); err != nil {
						t.Fatal(err)
					}
				}
				if at == packets {
					killReplicas(t, c, w, victims)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				dfstest.WantFile(t, cl, "/f", data)
				c.Healthy()
			})
		}
	}
}

// killReplicas stops the nodes of the pipeline that is open now.
func killReplicas(t *testing.T, c *dfstest.Cluster, w *dfs.Writer, which []int) {
	t.Helper()
	nodes := w.Pipeline()
	for _, i := range which {
		if i >= len(nodes) {
			continue // not open yet
		}
		for _, n := range c.Nodes {
			if n.Name == nodes[i] {
				n.Stop()
			}
		}
	}
}

// TestWriterDies is FAULTS row 41: the file is closed, its replicas are equal, and it holds a
// beginning of what was written.
func TestWriterDies(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 4, Racks: 2, Names: func(n *names.Config) { n.LeaseTimeout = time.Second }})
	reader := c.Client("")
	data := dfstest.Noise(3, 3*small)
	for i, n := range []int{0, 1, pipe.ChunkSize, pipe.ChunkSize + 1, small - 1, small, small + 5, 2*small + 3*pipe.ChunkSize} {
		path := fmt.Sprint("/dies", i)
		dies := c.Client("", func(cfg *dfs.Config) { cfg.LeaseEvery = time.Hour })
		w, err := dies.Create(t.Context(), path, dfs.CreateOptions{BlockSize: small})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data[:n]); err != nil {
			t.Fatal(err)
		}
		w.Forget()
	}
	for i := range 8 {
		path := fmt.Sprint("/dies", i)
		c.Wait(path+" is closed", func() bool {
			info, err := reader.Stat(t.Context(), path)
			return err == nil && !info.Open
		})
		got, err := dfstest.Get(reader, path)
		if err != nil || !bytes.HasPrefix(data, got) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
		if info, err := reader.Stat(t.Context(), path); err != nil || !info.HasCRC || info.CRC != pipe.Checksum(got) {
			t.Errorf("%s: its checksum is not that of its %d bytes: %+v, %v", path, len(got), info, err)
		}
	}
	c.Healthy()
}

// TestNodeLossAndReturn is FAULTS rows 43 and 44.
func TestNodeLossAndReturn(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 5, Racks: 2, Names: func(n *names.Config) { n.DeadAfter = 600 * time.Millisecond }})
	cl := c.Client("")
	files := map[string][]byte{}
	for i := range 20 {
		path := fmt.Sprint("/f", i)
		files[path] = dfstest.Noise(uint64(i), 100_000)
		if err := dfstest.Put(cl, path, files[path], dfs.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Nodes[2].Stop()
	c.Wait("the loss is seen", func() bool { return stateOf(c, "n3") == "dead" })
	c.Healthy()
	for path, data := range files {
		dfstest.WantFile(t, cl, path, data)
	}
	c.Nodes[2].Start()
	c.Wait("the node is back", func() bool { return stateOf(c, "n3") == "live" })
	c.Healthy()
	c.Wait("surplus copies are gone", func() bool { return copies(c) == 60 })
	for path, data := range files {
		dfstest.WantFile(t, cl, path, data)
	}
}

// copies counts the replicas that the name service knows.
func copies(c *dfstest.Cluster) (n int64) {
	for _, node := range c.Names.Nodes() {
		n += node.Blocks
	}
	return n
}

func stateOf(c *dfstest.Cluster, node wire.NodeName) string {
	for _, n := range c.Names.Nodes() {
		if n.Node == node {
			return n.State
		}
	}
	return "unknown"
}

// TestNameServiceRestarts: writers and readers go on, and nothing that was closed is lost.
func TestNameServiceRestarts(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	cl := c.Client("")
	if err := dfstest.Put(cl, "/before", dfstest.Noise(1, small+1), dfs.CreateOptions{BlockSize: small}); err != nil {
		t.Fatal(err)
	}
	w, err := cl.Create(t.Context(), "/during", dfs.CreateOptions{BlockSize: small})
	if err != nil {
		t.Fatal(err)
	}
	data := dfstest.Noise(2, 2*small+77)
	if _, err := w.Write(data[:small+5]); err != nil {
		t.Fatal(err)
	}
	c.StopNames()
	c.StartNames()
	if _, err := w.Write(data[small+5:]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dfstest.WantFile(t, cl, "/before", dfstest.Noise(1, small+1))
	dfstest.WantFile(t, cl, "/during", data)
	c.Healthy()
}

func TestErrorsSaySo(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	cl := c.Client("", func(cfg *dfs.Config) { cfg.Patience = 300 * time.Millisecond })
	ctx := t.Context()
	if err := errors.Join(cl.Mkdir(ctx, "/dir", false), dfstest.Put(cl, "/file", []byte("x"), dfs.CreateOptions{})); err != nil {
		t.Fatal(err)
	}
	_, openDir := cl.Open(ctx, "/dir")
	_, openNone := cl.Open(ctx, "/none")
	for what, tt := range map[string]struct {
		err  error
		kind wire.Kind
	}{
		"write over a directory":  {dfstest.Put(cl, "/dir", []byte("x"), dfs.CreateOptions{Overwrite: true}), wire.Exists},
		"write over a file":       {dfstest.Put(cl, "/file", []byte("x"), dfs.CreateOptions{}), wire.Exists},
		"below a file":            {dfstest.Put(cl, "/file/x", []byte("x"), dfs.CreateOptions{}), wire.Invalid},
		"delete the root":         {cl.Remove(ctx, "/", true), wire.Invalid},
		"remove nothing":          {cl.Remove(ctx, "/none", false), wire.NotFound},
		"move nothing to a file":  {cl.Rename(ctx, "/none", "/file", true), wire.NotFound},
		"make what is there":      {cl.Mkdir(ctx, "/dir", false), wire.Exists},
		"read a directory":        {openDir, wire.Invalid},
		"read nothing":            {openNone, wire.NotFound},
		"dots":                    {dfstest.Put(cl, "/a/../b", []byte("x"), dfs.CreateOptions{}), wire.Invalid},
		"absurdly many copies":    {dfstest.Put(cl, "/many", []byte("x"), dfs.CreateOptions{Replication: 1000}), wire.Invalid},
		"more copies than nodes":  {dfstest.Put(cl, "/four", []byte("x"), dfs.CreateOptions{Replication: 4}), wire.Invalid},
		"more copies afterwards":  {cl.SetReplication(ctx, "/file", 4), wire.Invalid},
		"a directory into itself": {cl.Rename(ctx, "/dir", "/dir/dir", false), wire.Invalid},
	} {
		if tt.err == nil || wire.KindOf(tt.err) != tt.kind {
			t.Errorf("%s: %v (%v), want %v", what, tt.err, wire.KindOf(tt.err), tt.kind)
		}
	}
	if !errors.Is(openNone, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", openNone)
	}
	dfstest.WantFile(t, cl, "/file", []byte("x"))
}

// TestOverwriteIsAtomic: readers see the old file or the new one.
func TestOverwriteIsAtomic(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	cl := c.Client("")
	if err := dfstest.Put(cl, "/f", []byte("old"), dfs.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := cl.Create(t.Context(), "/f", dfs.CreateOptions{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(dfstest.Noise(1, 2*pipe.ChunkSize)); err != nil {
		t.Fatal(err)
	}
	dfstest.WantFile(t, cl, "/f", []byte("old"))
	w.Abort()
	dfstest.WantFile(t, cl, "/f", []byte("old"))
	if err := dfstest.Put(cl, "/f", []byte("new"), dfs.CreateOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	dfstest.WantFile(t, cl, "/f", []byte("new"))
}

// TestFSView: package testing/fstest finds nothing wrong with the store seen as an io/fs.FS.
func TestFSView(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	cl := c.Client("")
	for _, p := range []string{"/a", "/b/c", "/b/d/e"} {
		if err := dfstest.Put(cl, p, []byte(p), dfs.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	view := cl.FS(t.Context())
	if err := fstest.TestFS(view, "a", "b/c", "b/d/e"); err != nil {
		t.Error(err)
	}
	for path, name := range map[string]string{".": ".", "b/d": "d", "a": "a"} {
		if i, err := fs.Stat(view, path); err != nil || i.Name() != name {
			t.Errorf("%s is %v, %v", path, i, err)
		}
	}
}

// TestReadsOfTheOwnDisk: who runs on the node that has a block reads it from the disk, and nothing is sent, unless told not to; others have it sent.
func TestReadsOfTheOwnDisk(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 1})
	data := dfstest.Noise(7, 3*pipe.ChunkSize+5)
	if err := dfstest.Put(c.Client(""), "/f", data, dfs.CreateOptions{Replication: 1}); err != nil {
		t.Fatal(err)
	}
	sent := c.Nodes[0].BytesSent
	before := sent()
	dfstest.WantFile(t, c.Client("n1"), "/f", data)
	if n := sent() - before; n != 0 {
		t.Errorf("%d bytes are sent from a node to itself", n)
	}
	for _, cl := range []*dfs.Client{c.Client("n1", func(cfg *dfs.Config) { cfg.NoLocal = true }), c.Client("")} {
		before := sent()
		dfstest.WantFile(t, cl, "/f", data)
		c.Wait("the bytes are counted", func() bool { return sent()-before >= int64(len(data)) })
	}
}

// TestRot is FAULTS rows 36 and 39: damaged replicas are never handed out, are replaced from a
// good copy, and if there is none the error says so.
func TestRot(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 4, Racks: 2, Blocks: func(b *blocks.Config) { b.ScrubPeriod = time.Hour }})
	cl := c.Client("")
	data := dfstest.Noise(5, 2*pipe.ChunkSize+10)
	files := 10
	if require.Stressed() {
		files = 100
	}
	for i := range files {
		if err := dfstest.Put(cl, fmt.Sprint("/f", i), data, dfs.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range files {
		dfstest.Flip(t, c, cl, fmt.Sprint("/f", i), 1)
	}
	for i := range files {
		for _, cl := range []*dfs.Client{cl, c.Client("n1"), c.Client("n2"), c.Client("n3"), c.Client("n4")} {
			dfstest.WantFile(t, cl, fmt.Sprint("/f", i), data)
		}
	}
	c.Wait("all damage is repaired", func() bool { return dfstest.Damaged(t, c) == 0 && copies(c) == int64(3*files) })
	c.Healthy()
	dfstest.Flip(t, c, cl, "/f0", 3)
	short := c.Client("", func(cfg *dfs.Config) { cfg.Patience = 500 * time.Millisecond })
	loc, err := cl.Locate(t.Context(), "/f0", 0, -1)
	if err != nil || len(loc.Blocks) != 1 || len(loc.Blocks[0].Places) != 3 {
		t.Fatalf("/f0 is at %+v, %v", loc, err)
	}
	_, err = dfstest.Get(short, "/f0")
	if err == nil {
		t.Fatal("a file without a good copy was read")
	}
	for _, part := range []string{"/f0", loc.Blocks[0].ID.String()} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
}

// TestScrubber is FAULTS row 38: rot that nobody reads is found.
func TestScrubber(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 4, Blocks: func(b *blocks.Config) { b.ScrubPeriod, b.ScrubRate = time.Second, 1<<30 }})
	cl := c.Client("")
	files := 10
	if require.Stressed() {
		files = 100
	}
	for i := range files {
		if err := dfstest.Put(cl, fmt.Sprint("/f", i), dfstest.Noise(1, 100_000), dfs.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		dfstest.Flip(t, c, cl, fmt.Sprint("/f", i), 1)
	}
	c.Wait("all damage is found and repaired", func() bool { return dfstest.Damaged(t, c) == 0 })
	c.Healthy()
}
