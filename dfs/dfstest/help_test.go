package dfstest_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/internal/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
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
