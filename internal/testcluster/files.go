package testcluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs"
)

// Put writes a file into the block store.
func (c *Cluster) Put(path, text string) {
	c.t.Helper()
	w, err := c.DFS.Create(context.Background(), path, dfs.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		c.t.Fatal(err)
	}
}

// Parts returns the contents of an output's parts, in order, and the names of everything else there.
func (c *Cluster) Parts(dir string) (parts, others []string) {
	c.t.Helper()
	list, err := c.DFS.ListAll(context.Background(), dir)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range list {
		if !strings.HasPrefix(path.Base(e.Path), "part-") {
			others = append(others, path.Base(e.Path))
			continue
		}
		f, err := c.DFS.Open(context.Background(), e.Path)
		if err != nil {
			c.t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			c.t.Fatal(err)
		}
		parts = append(parts, string(b))
	}
	return parts, others
}

// Get returns the code and the body of an answer, or code 0 and the error.
func Get(t testing.TB, cl *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := cl.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
