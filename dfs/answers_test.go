package dfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/storage"
)

// clientOf is a client of a name service whose answers the test makes up.
func clientOf(t *testing.T, routes func(srv *rpc.Server)) *dfs.Client {
	t.Helper()
	master, _ := rpctest.Serve(t, routes)
	rc := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	cl := dfs.NewClient(dfs.Config{Master: master, Client: rc, User: "ann", Patience: 20 * time.Second, LeaseEvery: time.Millisecond})
	t.Cleanup(func() {
		if err := errors.Join(cl.Close(), rc.Close()); err != nil {
			t.Error(err)
		}
	})
	return cl
}

// answering answers a method with one error after the other, and counts.
func answering[Req, Resp any](srv *rpc.Server, m rpc.Method[Req, Resp], answers []error, calls *atomic.Int32) {
	rpc.HandleQuick(srv, m, func(rpc.Caller, Req) (resp Resp, err error) { return resp, answers[calls.Add(1)-1] })
}

// TestLostAnswers: a change whose answer is lost is asked for again. What says then that it is done already is no error; the same word at once is one, and so is
// any other word.
func TestLostAnswers(t *testing.T) {
	ctx := t.Context()
	for name, x := range map[string]struct {
		do   func(c *dfs.Client) error
		done wire.Kind // what the second try is told if the first was carried out
	}{
		"mkdir":           {func(c *dfs.Client) error { return c.Mkdir(ctx, "/d", false) }, wire.Exists},
		"rename":          {func(c *dfs.Client) error { return c.Rename(ctx, "/a", "/there", false) }, wire.NotFound},
		"remove":          {func(c *dfs.Client) error { return c.Remove(ctx, "/a", false) }, wire.NotFound},
		"discard":         {func(c *dfs.Client) error { return c.Discard(ctx, "/a", false) }, wire.NotFound},
		"snapshot":        {func(c *dfs.Client) error { return c.Snapshot(ctx, "/d", "s") }, wire.Exists},
		"remove snapshot": {func(c *dfs.Client) error { return c.RemoveSnapshot(ctx, "/d", "s") }, wire.NotFound},
	} {
		for _, y := range []struct {
			answers []error
			ok      bool
		}{
			{[]error{nil}, true},
			{[]error{wire.Unavailable, nil}, true},
			{[]error{wire.Unavailable, x.done}, true},
			{[]error{wire.Unavailable, wire.Unavailable, x.done}, true},
			{[]error{x.done}, false},
			{[]error{wire.Unavailable, wire.Denied}, false},
		} {
			var calls atomic.Int32
			err := x.do(clientOf(t, func(srv *rpc.Server) {
				answering(srv, api.DFSMkdir, y.answers, &calls)
				answering(srv, api.DFSRename, y.answers, &calls)
				answering(srv, api.DFSDelete, y.answers, &calls)
				answering(srv, api.DFSSnapshot, y.answers, &calls)
				rpc.HandleQuick(srv, api.DFSStat, func(_ rpc.Caller, r wire.PathRequest) (wire.FileInfo, error) {
					if r.Path != "/there" {
						return wire.FileInfo{}, wire.NotFound
					}
					return wire.FileInfo{Path: r.Path}, nil
				})
			}))
			last := y.answers[len(y.answers)-1]
			if (err == nil) != y.ok || !y.ok && !errors.Is(err, last) || int(calls.Load()) != len(y.answers) {
				t.Errorf("%s, answered %v: %v after %d calls", name, y.answers, err, calls.Load())
			}
		}
	}
	var calls atomic.Int32
	err := clientOf(t, func(srv *rpc.Server) {
		answering(srv, api.DFSRename, []error{wire.Unavailable, wire.NotFound}, &calls)
		rpc.HandleQuick(srv, api.DFSStat, func(rpc.Caller, wire.PathRequest) (none wire.FileInfo, err error) { return none, wire.NotFound })
	}).Rename(ctx, "/a", "/nowhere", false)
	if !errors.Is(err, wire.NotFound) {
		t.Errorf("moved from nowhere to nowhere: %v", err)
	}
}

// TestLeasesAreRenewed: while a file is open its lease is renewed, whichever other files are closed meanwhile; afterwards it is not.
func TestLeasesAreRenewed(t *testing.T) {
	var renewals, files atomic.Int64
	cl := clientOf(t, func(srv *rpc.Server) {
		rpc.HandleQuick(srv, api.DFSCreate, func(_ rpc.Caller, r wire.CreateRequest) (wire.CreateResponse, error) {
			return wire.CreateResponse{File: wire.FileInfo{Path: r.Path, ID: wire.FileID(files.Add(1)), BlockSize: 1000}}, nil
		})
		rpc.HandleQuick(srv, api.DFSRenew, func(rpc.Caller, wire.LeaseRequest) (none struct{}, err error) { renewals.Add(1); return none, nil })
		rpc.HandleQuick(srv, api.DFSAbandon, func(rpc.Caller, wire.LeaseRequest) (none struct{}, err error) { return none, nil })
	})
	create := func() *dfs.Writer {
		w, err := cl.Create(t.Context(), "/f", dfs.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	wait := func(what string, done func() bool) {
		t.Helper()
		for begin := time.Now(); !done(); time.Sleep(time.Millisecond) {
			if time.Since(begin) > 20*time.Second {
				t.Fatal("waited in vain:", what)
			}
		}
	}
	renewed := func(what string) {
		t.Helper()
		n := renewals.Load() + 5
		wait(what, func() bool { return renewals.Load() >= n })
	}
	for range 2 {
		first, second := create(), create()
		renewed("two files are open")
		first.Abort()
		first.Abort() // is over
		renewed("one is still open")
		second.Abort()
		wait("renewals end", func() bool {
			n := renewals.Load()
			time.Sleep(100 * time.Millisecond)
			return renewals.Load() == n
		})
		if _, err := second.Write([]byte("x")); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("written after it was given up: %v", err)
		}
	}
}

// TestDirectoriesInPages: a directory is listed whole, however few entries come at once.
func TestDirectoriesInPages(t *testing.T) {
	entry := func(name string) wire.FileInfo { return wire.FileInfo{Path: "/d/" + name} }
	pages := map[string]wire.ListResponse{
		"":  {Entries: []wire.FileInfo{entry("a"), entry("b")}, More: true},
		"b": {Entries: []wire.FileInfo{entry("c")}, More: true},
		"c": {More: true}, // what followed is gone meanwhile
	}
	list, err := clientOf(t, func(srv *rpc.Server) {
		rpc.HandleQuick(srv, api.DFSList, func(_ rpc.Caller, r wire.ListRequest) (wire.ListResponse, error) { return pages[r.After], nil })
	}).ListAll(t.Context(), "/d")
	if err != nil || !slices.Equal(list, []wire.FileInfo{entry("a"), entry("b"), entry("c")}) {
		t.Errorf("%v, %v", list, err)
	}
}

// TestManyMoves: files are moved some hundred at a time; the first call that fails is the last.
func TestManyMoves(t *testing.T) {
	var sizes []int
	var refuse error
	cl := clientOf(t, func(srv *rpc.Server) {
		rpc.HandleQuick(srv, api.DFSRenameAll, func(_ rpc.Caller, r wire.RenameAllRequest) (none struct{}, err error) {
			sizes = append(sizes, len(r.Moves))
			return none, refuse
		})
	})
	moves := make([]wire.Move, 1001)
	if err := cl.RenameAll(t.Context(), moves); err != nil || !slices.Equal(sizes, []int{500, 500, 1}) {
		t.Errorf("moved %v, %v", sizes, err)
	}
	sizes, refuse = nil, wire.Denied
	if err := cl.RenameAll(t.Context(), moves); !errors.Is(err, wire.Denied) || len(sizes) != 1 {
		t.Errorf("refused after %v: %v", sizes, err)
	}
	if err := cl.RenameAll(t.Context(), []wire.Move{{From: "/a", To: "/\xff"}}); !errors.Is(err, wire.Invalid) || len(sizes) != 1 {
		t.Errorf("a name that is no text: %v", err)
	}
}

// fileOf opens a file of ten bytes in blocks of five, at nodes that are not there. answer may change what the name service says to the n-th question.
func fileOf(t *testing.T, answer func(n int, r *wire.LocateResponse)) (f *dfs.File, asked *[]int64) {
	t.Helper()
	asked = new([]int64)
	cl := clientOf(t, func(srv *rpc.Server) {
		rpc.HandleQuick(srv, api.DFSLocate, func(_ rpc.Caller, r wire.LocateRequest) (wire.LocateResponse, error) {
			*asked = append(*asked, r.Off)
			resp := wire.LocateResponse{File: wire.FileInfo{Path: r.Path, ID: 1, Len: 10}}
			if r.Off < 10 { // a block at a time
				resp.Blocks = []wire.LocatedBlock{{Block: wire.Block{ID: wire.BlockID(r.Off + 1), Gen: 1, Len: 5}, Off: r.Off, Places: []wire.Place{{Node: "n1", Addr: "127.0.0.1:1"}}}}
			}
			answer(len(*asked), &resp)
			return resp, nil
		})
	})
	f, err := cl.Open(t.Context(), "/f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, asked
}

// TestPlacesInFiles: the places where a file can be read, and those where it cannot.
func TestPlacesInFiles(t *testing.T) {
	f, asked := fileOf(t, func(int, *wire.LocateResponse) {})
	if !slices.Equal(*asked, []int64{0, 5}) || f.Size() != 10 {
		t.Errorf("asked for the blocks from %v on, of %d bytes", *asked, f.Size())
	}
	for _, x := range []struct {
		off    int64
		whence int
		want   int64
		ok     bool
	}{{4, io.SeekStart, 4, true}, {3, io.SeekCurrent, 7, true}, {-8, io.SeekCurrent, 7, false}, {-1, io.SeekEnd, 9, true}, {-11, io.SeekEnd, 9, false}, {0, io.SeekStart, 0, true}, {-1, io.SeekStart, 0, false}, {10, io.SeekStart, 10, true}} {
		if at, err := f.Seek(x.off, x.whence); at != x.want || (err == nil) != x.ok {
			t.Errorf("seek %d from %d: at %d, %v", x.off, x.whence, at, err)
		}
	}
	one := make([]byte, 1)
	if n, err := f.Read(one); n != 0 || err != io.EOF { //nolint:errorlint // readers promise it bare
		t.Errorf("read at the end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(one, 10); n != 0 || err != io.EOF { //nolint:errorlint // readers promise it bare
		t.Errorf("read at 10 of 10: %d, %v", n, err)
	}
	if _, err := f.ReadAt(one, -1); wire.KindOf(err) != wire.Invalid || err == nil {
		t.Errorf("read before the beginning: %v", err)
	}
	var out bytes.Buffer
	for _, x := range [][2]int64{{10, 5}, {15, 5}, {3, 0}, {3, -1}} {
		if n, err := f.CopyRange(&out, x[0], x[1]); n != 0 || err != nil || out.Len() > 0 {
			t.Errorf("copied %d bytes from %d on: %d, %v", x[1], x[0], n, err)
		}
	}
}

// TestFilesThatChange: a file that was replaced while it is read is told as such; one with a hole is damaged.
func TestFilesThatChange(t *testing.T) {
	one := make([]byte, 1)
	f, _ := fileOf(t, func(n int, r *wire.LocateResponse) {
		if n > 2 {
			r.File.ID = 2
		}
	})
	if _, err := f.ReadAt(one, 7); wire.KindOf(err) != wire.Stale || err == nil {
		t.Errorf("replaced: %v", err)
	}
	f, _ = fileOf(t, func(n int, r *wire.LocateResponse) {
		if n == 1 {
			r.Blocks[0].Off, r.Blocks[0].Len = 3, 2
		}
	})
	for _, off := range []int64{0, 2} {
		if _, err := f.ReadAt(one, off); wire.KindOf(err) != wire.Corrupt || err == nil {
			t.Errorf("with a hole, at %d: %v", off, err)
		}
	}
}

// TestAnotherUser: what a client does for somebody else is done as that one, with that one's umask.
func TestAnotherUser(t *testing.T) {
	var got wire.MkdirRequest
	cl := clientOf(t, func(srv *rpc.Server) {
		rpc.HandleQuick(srv, api.DFSMkdir, func(_ rpc.Caller, r wire.MkdirRequest) (none wire.FileInfo, err error) { got = r; return none, nil })
	})
	if err := cl.As("bob", "077").Mkdir(t.Context(), "/d", true); err != nil || got.User != "bob" || got.Umask != "077" || !got.Parents {
		t.Errorf("%+v, %v", got, err)
	}
	if err := cl.Mkdir(t.Context(), "/d", false); err != nil || got.User != "ann" || got.Umask != "" || got.Parents {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBlocksOfManyPages: who asks where a file lies hears of all of its blocks, of which the master tells a thousand at a time.
func TestBlocksOfManyPages(t *testing.T) {
	require.Stress(t) // each block is made durable, which takes seconds
	cl := dfstest.Start(t, dfstest.Config{Nodes: 1}).Client("")
	if err := dfstest.Put(cl, "/f", make([]byte, 2101), dfs.CreateOptions{BlockSize: 2, Replication: 1}); err != nil {
		t.Fatal(err)
	}
	n, end := 0, int64(0)
	for b, err := range cl.Storage(t.Context()).(storage.Locator).Blocks("/f") {
		if err != nil || b.Offset != end || len(b.Hosts) != 1 {
			t.Fatalf("block %d: %+v, %v", n, b, err)
		}
		n, end = n+1, end+b.Length
	}
	if n != 1051 || end != 2101 {
		t.Errorf("%d blocks up to byte %d", n, end)
	}
}

// TestStorageView: the store as jobs see it.
func TestStorageView(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3})
	s := c.Client("").Storage(t.Context())
	put := func(path, text string) error {
		w, err := s.Create(path)
		if err != nil {
			return err
		}
		_, err = w.Write([]byte(text))
		return errors.Join(err, w.Sync(), w.Close())
	}
	read := func(path string) string {
		f, err := s.Open(path)
		if err != nil {
			return err.Error()
		}
		defer f.Close()
		b := make([]byte, f.Size())
		_, err = f.ReadAt(b, 0)
		return fmt.Sprintf("%s%v", b, err)
	}
	if err := errors.Join(s.MkdirAll("/d/e"), s.MkdirAll("/d/e"), put("/d/a", "aa"), put("/d/b", "b"), s.Rename("/d/a", "/d/b"), s.RemoveAll("/none"), put("/tmp/x", "x")); err != nil {
		t.Fatal(err)
	}
	if got := read("/d/b"); got != "aa<nil>" {
		t.Errorf("moved over another, it holds %s", got)
	}
	for what, err := range map[string]error{
		"made where no directory is": put("/none/f", ""), "made again": put("/d/b", ""), "a directory over a directory": s.Rename("/d/e", "/d"), "nothing is moved": s.Rename("/none", "/d/n"),
	} {
		if err == nil {
			t.Error(what)
		}
	}
	list, err := s.ReadDir("/d")
	if err != nil || len(list) != 2 || list[0].Name() != "b" || list[0].IsDir() || list[1].Name() != "e" || !list[1].IsDir() {
		t.Errorf("%v, %v", list, err)
	}
	for path, want := range map[string]string{"/d/b": "b 2 -rw-r--r--", "/d": "d 0 drwxr-xr-x", "/": "/ 0 drwxr-xr-x", "/tmp": "tmp 0 dtrwxrwxrwx"} {
		i, err := s.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(i.Name(), " ", i.Size(), " ", i.Mode()); got != want || i.IsDir() != i.Mode().IsDir() || path != "/" && time.Since(i.ModTime()).Abs() > time.Hour {
			t.Errorf("%s: %s of %v, want %s", path, got, i.ModTime(), want)
		}
	}
	if _, err := s.Stat("/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	var blocks []string
	for b, err := range s.(storage.Locator).Blocks("/d/b") {
		slices.Sort(b.Hosts)
		blocks = append(blocks, fmt.Sprint(b.Offset, b.Length, b.Hosts, err))
	}
	if want := []string{"0 2 [n1 n2 n3] <nil>"}; !slices.Equal(blocks, want) {
		t.Errorf("blocks %q, want %q", blocks, want)
	}
	for _, err := range s.(storage.Locator).Blocks("/none") {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("blocks of nothing: %v", err)
		}
	}
	if err := errors.Join(s.(storage.Mover).RenameAll([]storage.Move{{From: "/d/b", To: "/d/c"}}), s.RemoveAll("/d/e")); err != nil {
		t.Fatal(err)
	}
	if got := read("/d/c"); got != "aa<nil>" {
		t.Errorf("moved, it holds %s", got)
	}
	if got, err := s.(storage.Resolver).Resolve("/d/../x//y"); got != "/x/y" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
