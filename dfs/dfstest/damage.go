package dfstest

import (
	crand "crypto/rand"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// Flip flips one bit in that many replicas of every block of a file, at the same place in each. Damage in
// different chunks would not hurt, since a reader takes each chunk from a good replica.
func Flip(t testing.TB, c *Cluster, cl *dfs.Client, path string, replicas int) {
	t.Helper()
	loc, err := cl.Locate(t.Context(), path, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range loc.Blocks {
		at := rand.Int64N(b.Len)
		for _, p := range b.Places[:min(replicas, len(b.Places))] {
			i := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.Name == p.Node })
			flipOne(t, c.Nodes[i].blockFile(t, b.ID), at)
		}
	}
}

func flipOne(t testing.TB, name string, at int64) {
	t.Helper()
	const header = 32
	at += header
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << rand.IntN(8)
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// blockFile returns the file of a block on a node.
func (n *Node) blockFile(t testing.TB, id wire.BlockID) string {
	t.Helper()
	for _, name := range n.BlockFiles(t) {
		if strings.Contains(filepath.Base(name), strings.TrimPrefix(id.String(), "blk_")) {
			return name
		}
	}
	t.Fatalf("%s is not on %s", id, n.Name)
	return ""
}

// BlockFiles lists the files of the replicas on the node.
func (n *Node) BlockFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.Dir, "blocks", "*", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Damaged counts the damaged block files of all nodes.
func Damaged(t testing.TB, c *Cluster) (bad int) {
	t.Helper()
	for _, n := range c.Nodes {
		for _, name := range n.BlockFiles(t) {
			if !blocks.Whole(name) {
				bad++
			}
		}
	}
	return bad
}

// Swap gives the only replica of a node that is stopped other bytes, whole in themselves.
func (n *Node) Swap(t testing.TB, data []byte) {
	t.Helper()
	root, err := disk.OpenRoot(n.Dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := blocks.OpenStore(blocks.StoreConfig{Node: n.Name, Dirs: []blocks.Dir{{Path: n.Dir, FS: root}}, NewID: crand.Text})
	if err != nil {
		t.Fatal(err)
	}
	b := store.List()[0]
	err = store.Delete(b)
	w, werr := store.Begin(b, b.Len)
	if err := errors.Join(err, werr); err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(data, pipe.ChunkSize) {
		err = errors.Join(err, w.Append(chunk, pipe.Checksum(chunk)))
	}
	if err := errors.Join(err, w.Finish(), store.Close(), root.Close()); err != nil {
		t.Fatal(err)
	}
}
