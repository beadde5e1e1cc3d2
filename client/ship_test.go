package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestShipAtOnce: eight clients ship the same new file at once. Whoever is told that it is there can read all of it.
func TestShipAtOnce(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2})
	for round := range 3 {
		name, data := localFile(t, fmt.Sprint("round ", round))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
				if err != nil {
					t.Error(err)
					return
				}
				defer cl.Close()
				path, _, err := cl.Ship(t.Context(), name)
				if err != nil {
					t.Error(err)
					return
				}
				if got := dfsGet(t, cl, path); !bytes.Equal(got, data) {
					t.Errorf("%d bytes of %d are there", len(got), len(data))
				}
			})
		}
		wg.Wait()
	}
	list, err := c.DFS.ListAll(t.Context(), "/user/ann/.millrace/shipped")
	if err != nil || len(list) != 3 {
		t.Errorf("%d files are left, want 3: %v, %v", len(list), list, err)
	}
}

// TestShipOverAPart: what a client left behind that died while it wrote, open or cut off, is replaced by the whole file.
func TestShipOverAPart(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2})
	cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, closed := range []bool{true, false} {
		name, data := localFile(t, fmt.Sprint("closed ", closed))
		path, _, err := cl.Ship(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.DFS.Remove(t.Context(), path, false); err != nil {
			t.Fatal(err)
		}
		w, err := c.DFS.Create(t.Context(), path, dfs.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data[:1000]); err != nil {
			t.Fatal(err)
		}
		if closed {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := cl.Ship(t.Context(), name); err != nil {
			t.Errorf("closed %v: %v", closed, err)
			continue
		}
		if got := dfsGet(t, cl, path); !bytes.Equal(got, data) {
			t.Errorf("closed %v: %d bytes of %d are there", closed, len(got), len(data))
		}
		if !closed {
			w.Abort()
		}
	}
}

func localFile(t *testing.T, what string) (name string, data []byte) {
	t.Helper()
	name, data = filepath.Join(t.TempDir(), "program"), bytes.Repeat([]byte(what), 200_000)
	if err := os.WriteFile(name, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return name, data
}

func dfsGet(t *testing.T, cl *client.Client, path string) []byte {
	t.Helper()
	f, err := cl.DFS().Open(t.Context(), path)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer f.Close()
	data := make([]byte, f.Size())
	if _, err := f.ReadAt(data, 0); err != nil {
		t.Error(err)
	}
	return data
}

// TestPartsAreSwept: what clients have left that died while they shipped is removed when it is old and nobody writes it, and nothing else.
func TestPartsAreSwept(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2})
	cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	name, data := localFile(t, "parts")
	whole, _, err := cl.Ship(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{".new-DEAD", ".new-WRITES"} {
		w, err := cl.DFS().Create(t.Context(), whole+part, dfs.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data[:1000]); err != nil {
			t.Fatal(err)
		}
		if part == ".new-WRITES" {
			defer w.Abort()
		} else if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	second, _ := localFile(t, "another")
	path, _, err := cl.Ship(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		list, err := cl.DFS().ListAll(t.Context(), "/user/ann/.millrace/shipped")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			names = append(names, f.Path)
		}
		return names
	}
	if got := left(); len(got) != 4 {
		t.Errorf("what is a moment old is gone: %q", got)
	}
	shipped, err1 := cl.DFS().Stat(t.Context(), path)
	dead, err2 := cl.DFS().Stat(t.Context(), whole+".new-DEAD")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	age := time.Duration(shipped.ModTime-dead.ModTime) * time.Millisecond
	for what, sweep := range map[string]func(){
		"too young":                func() { client.SweepParts(cl, t.Context(), path, age+time.Millisecond) },
		"beside what is not there": func() { client.SweepParts(cl, t.Context(), path+"x", 0) },
	} {
		if sweep(); len(left()) != 4 {
			t.Errorf("%s: left is %q", what, left())
		}
	}
	client.SweepParts(cl, t.Context(), path, age)
	if got := left(); len(got) != 3 || slices.Contains(got, whole+".new-DEAD") || !slices.Contains(got, whole+".new-WRITES") {
		t.Errorf("left is %q", got)
	}
}

// TestFilesThatChangeAreNotShipped: what is not what was measured, in size or only in its bytes, does not get into the block store.
func TestFilesThatChangeAreNotShipped(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cl := connect(t, client.Config{Master: c.Addr, User: "ann"})
	for what, change := range map[string]func(b []byte) []byte{
		"as it was": func(b []byte) []byte { return b },
		"longer":    func(b []byte) []byte { return append(b, 0) },
		"shorter":   func(b []byte) []byte { return b[1:] },
		"other":     func(b []byte) []byte { b[7]++; return b },
	} {
		name, data := localFile(t, what)
		to := "/user/ann/" + what
		err := client.ShipLate(cl, t.Context(), name, to, func() error { return os.WriteFile(name, change(data), 0o755) })
		if (err == nil) != (what == "as it was") {
			t.Errorf("%s: %v", what, err)
		}
		if info, err := cl.DFS().Stat(t.Context(), to); err == nil && !info.Open && what != "as it was" {
			t.Errorf("%s: it is there, with %d bytes", what, info.Len)
		}
	}
}

// TestShipOverOthers: another file under the name of what is shipped, of the same length, makes way; a directory with something in it does not, and the
// error names the file. No part is left.
func TestShipOverOthers(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cl := connect(t, client.Config{Master: c.Addr, User: "ann"})
	name, data := localFile(t, "file")
	path, hash, err := cl.Ship(t.Context(), name)
	if err != nil || path != "/user/ann/.millrace/shipped/"+hash || len(hash) != 64 {
		t.Fatal(path, hash, err)
	}
	before, err := cl.DFS().Stat(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := cl.Ship(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if after, err := cl.DFS().Stat(t.Context(), path); err != nil || after.ModTime != before.ModTime {
		t.Errorf("what is there is shipped again: %+v, %v", after, err)
	}
	put := func(path string, b []byte) {
		t.Helper()
		w, err := cl.DFS().Create(t.Context(), path, dfs.CreateOptions{Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(b)
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	put(path, bytes.ToUpper(data))
	if _, _, err := cl.Ship(t.Context(), name); err != nil {
		t.Error(err)
	}
	if got := dfsGet(t, cl, path); !bytes.Equal(got, data) {
		t.Errorf("%d bytes of another file are there", len(got))
	}
	if err := cl.DFS().Remove(t.Context(), path, false); err != nil {
		t.Fatal(err)
	}
	put(path+"/in a directory", data)
	if _, _, err := cl.Ship(t.Context(), name); err == nil || !strings.HasPrefix(err.Error(), "ship "+name+": ") {
		t.Errorf("over a directory: %v", err)
	}
	list, err := cl.DFS().ListAll(t.Context(), "/user/ann/.millrace/shipped")
	if err != nil || slices.ContainsFunc(list, func(f wire.FileInfo) bool { return strings.Contains(f.Path, ".new-") }) {
		t.Errorf("left are %+v, %v", list, err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, local := range []string{missing, t.TempDir()} {
		if path, hash, err := cl.Ship(t.Context(), local); err == nil || path+hash != "" || !strings.HasPrefix(err.Error(), "ship "+local+": ") {
			t.Errorf("%s: %s, %s, %v", local, path, hash, err)
		}
	}
}
