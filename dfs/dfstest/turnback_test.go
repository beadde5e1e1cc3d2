package dfstest_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/wire"
)

// TestNoFileReadsAsAnother is what users see when the name service forgets its last changes while a node with their
// blocks is away: its directory is put back from a copy, or the end of its journal is cut. What is written next never
// reads as what was lost, on no node and in no order of their coming back.
func TestNoFileReadsAsAnother(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(t *testing.T, before, after string){
		"a copy is put back": func(*testing.T, string, string) {},
		"the end of the journal is cut": func(t *testing.T, before, after string) {
			last := func(dir string) string {
				files, err := filepath.Glob(filepath.Join(dir, "journal", "*.journal"))
				if err != nil || len(files) == 0 {
					t.Fatal("no journal", err)
				}
				return slices.Max(files)
			}
			whole, err := os.ReadFile(last(after))
			check(t, err)
			info, err := os.Stat(last(before))
			check(t, err)
			check(t, os.WriteFile(last(before), whole[:info.Size()+7], 0o600)) // in the middle of a record
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forgetAndWrite(t, forget)
		})
	}
}

func forgetAndWrite(t *testing.T, forget func(t *testing.T, before, after string)) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 3, Names: func(n *names.Config) { n.SafeThreshold = 0 }})
	cl := c.Client("", func(c *dfs.Config) { c.Patience = time.Second })
	lost, other := bytes.Repeat([]byte("lost "), 20_000), bytes.Repeat([]byte("other"), 20_000)
	check(t, dfstest.Put(cl, "/before", lost, dfs.CreateOptions{}))
	before, after := t.TempDir(), t.TempDir()
	check(t, os.CopyFS(before, os.DirFS(c.NamesDir()))) // as it is after a crash
	check(t, dfstest.Put(cl, "/lost", lost, dfs.CreateOptions{}))
	check(t, os.CopyFS(after, os.DirFS(c.NamesDir())))
	c.Nodes[2].Stop()
	c.StopNames()
	forget(t, before, after)
	check(t, os.RemoveAll(c.NamesDir()))
	check(t, os.CopyFS(c.NamesDir(), os.DirFS(before)))
	c.StartNames()
	c.Wait("the live nodes drop what nobody knows", func() bool {
		return nodeOf(c, "n1").Blocks == 1 && len(c.Nodes[0].BlockFiles(t)) == 1 && len(c.Nodes[1].BlockFiles(t)) == 1
	})
	check(t, dfstest.Put(cl, "/other", other, dfs.CreateOptions{}))
	c.Nodes[2].Start()
	c.Wait("the third node has reported", func() bool { return nodeOf(c, "n3").State == "live" && nodeOf(c, "n3").Blocks > 0 })
	for _, n := range c.Nodes[:2] {
		n.Stop()
	}
	if got, err := dfstest.Get(cl, "/other"); err == nil && !bytes.Equal(got, other) {
		t.Errorf("/other reads %.20q: the bytes of a file that is lost", got)
	}
	for _, n := range c.Nodes[:2] {
		n.Start()
	}
	c.Wait("all files can be read", func() bool { _, err := dfstest.Get(cl, "/other"); return err == nil })
	dfstest.WantFile(t, cl, "/other", other)
	dfstest.WantFile(t, cl, "/before", lost)
	c.Healthy()
}

// TestWholeReadsCompareTheSum: a replica under the right name with other bytes, whole in itself, as name services that
// gave numbers out twice have left some. Whoever reads the file from end to end is told, at once or piece by piece.
func TestWholeReadsCompareTheSum(t *testing.T) {
	t.Parallel()
	c := dfstest.Start(t, dfstest.Config{Nodes: 1})
	cl := c.Client("", func(c *dfs.Config) { c.Patience = time.Second })
	right, wrong := dfstest.Noise(1, 150_000), dfstest.Noise(2, 150_000)
	check(t, dfstest.Put(cl, "/f", right, dfs.CreateOptions{Replication: 1}))
	c.Nodes[0].Stop()
	c.Nodes[0].Swap(t, wrong)
	c.Nodes[0].Start()
	c.Wait("the node is back", func() bool { return nodeOf(c, "n1").State == "live" && nodeOf(c, "n1").Blocks == 1 })
	for name, read := range map[string]func(f *dfs.File, w io.Writer) error{
		"copied": func(f *dfs.File, w io.Writer) error { _, err := f.CopyRange(w, 0, f.Size()); return err },
		"in pieces that overlap": func(f *dfs.File, w io.Writer) error {
			p := make([]byte, 7000)
			for at := int64(0); at < f.Size(); at += 6000 {
				n, err := f.ReadAt(p, at)
				if err != nil && !errors.Is(err, io.EOF) {
					return err
				}
				if _, err := w.Write(p[:min(n, 6000)]); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		f, err := cl.Open(t.Context(), "/f")
		check(t, err)
		var got bytes.Buffer
		if err := read(f, &got); !errors.Is(err, wire.Corrupt) || got.Len() >= len(right) {
			t.Errorf("%s: %d bytes, %v", name, got.Len(), err)
		}
		check(t, f.Close())
	}
}
