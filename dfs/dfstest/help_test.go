package dfstest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/internal/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(b) // never fails
	return b
}

func put(c *dfs.Client, path string, data []byte, o dfs.CreateOptions) error {
	w, err := c.Create(context.Background(), path, o)
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

func get(c *dfs.Client, path string) ([]byte, error) {
	f, err := c.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func wantFile(t *testing.T, c *dfs.Client, path string, want []byte) {
	t.Helper()
	got, err := get(c, path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d of %d bytes, equal: %v, %v", path, len(got), len(want), bytes.Equal(got, want), err)
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// blockFiles lists the block files of all nodes.
func blockFiles(t *testing.T, c *dfstest.Cluster) (all []string) {
	t.Helper()
	for _, n := range c.Nodes {
		list, err := filepath.Glob(filepath.Join(n.Dir, "blocks", "*", "*.blk"))
		check(t, err)
		all = append(all, list...)
	}
	return all
}

func nodeOf(c *dfstest.Cluster, name wire.NodeName) wire.StoreNode {
	list := c.Names.Nodes()
	if i := slices.IndexFunc(list, func(n wire.StoreNode) bool { return n.Node == name }); i >= 0 {
		return list[i]
	}
	return wire.StoreNode{State: "unknown"}
}
