package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// TestMasterNoticesThatItsDirectoryIsGone: a master whose directory is removed while it runs stops within two seconds and
// says why, and acknowledges nothing meanwhile that is lost.
func TestMasterNoticesThatItsDirectoryIsGone(t *testing.T) {
	t.Parallel()
	cfg := master.DefaultConfig()
	cfg.Dir, cfg.Listen = filepath.Join(t.TempDir(), "master"), "127.0.0.1:0"
	m, err := master.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }() // its disk is gone
	cl, err := client.New(client.Config{Master: m.Addr(), Patience: 100 * time.Millisecond, DFS: func(c *dfs.Config) { c.Patience = 100 * time.Millisecond }})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.DFS().Mkdir(t.Context(), "/before", true); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(cfg.Dir); err != nil {
		t.Fatal(err)
	}
	if err := cl.DFS().Mkdir(t.Context(), "/lost", true); err == nil {
		t.Error("the master acknowledges what is lost")
	}
	select {
	case err := <-m.Failed():
		if !strings.Contains(err.Error(), "removed") {
			t.Errorf("the master stops because of %v", err)
		}
	case <-time.After(2 * time.Second):
		t.Error("after two seconds the master goes on")
	}
}

// TestTwoWorkersWithOneDirectory: the second is refused, and told who has it; the first goes on.
func TestTwoWorkersWithOneDirectory(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cfg := worker.DefaultConfig()
	cfg.Node, cfg.Master, cfg.Dir, cfg.Build = "w2", c.Addr, c.Workers[0].Dir, c.Build
	if w, err := worker.Start(cfg); err == nil || !strings.Contains(err.Error(), "in use by worker w1, process ") {
		if w != nil {
			w.Close()
		}
		t.Errorf("the second worker: %v", err)
	}
	if nodes := c.Nodes(); len(nodes) != 1 || nodes[0].State != "up" {
		t.Errorf("%+v", nodes)
	}
}
