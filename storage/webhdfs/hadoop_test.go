package webhdfs_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/hadooptest"
	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/storage/storagetest"
	"github.com/millrace/millrace/storage/webhdfs"
)

// as returns the stores as a user sees them with a configuration.
func as(t testing.TB, conf, user string) storage.Mux {
	s := webhdfs.New(webhdfs.Config{Conf: conf, User: user, Patience: time.Minute, Stall: time.Minute, Env: os.LookupEnv})
	t.Cleanup(s.Close)
	return storage.Mux{Sites: s.Sites()}
}

// places returns directories below a full path.
func places(t testing.TB, m storage.Mux, root string) func(t *testing.T) storagetest.Place {
	var mu sync.Mutex
	n := 0
	return func(t *testing.T) storagetest.Place {
		mu.Lock()
		n++
		dir := fmt.Sprintf("%s/%03d", root, n)
		mu.Unlock()
		store, inner, err := m.Resolve(dir)
		if err == nil {
			err = store.MkdirAll(inner)
		}
		if err != nil {
			t.Fatal(err)
		}
		return storagetest.Place{Mux: m, Root: dir}
	}
}

// TestHDFS: a real HDFS of two data nodes.
func TestHDFS(t *testing.T) {
	c := hadooptest.Start(t, hadooptest.Config{})
	root := "root"
	if u := os.Getenv("USER"); u != "" {
		root = u
	}
	m := as(t, c.Conf, root)
	fs := c.Value("core-site.xml", "fs.defaultFS")
	t.Run("Suite", func(t *testing.T) { storagetest.Run(t, places(t, m, "hdfs:///suite")) })
	_ = strings.ToLower(fs)
}
