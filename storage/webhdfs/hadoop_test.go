package webhdfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"
	"sync/atomic"
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
func places(m storage.Mux, root string) func(t *testing.T) storagetest.Place {
	var n atomic.Int64
	return func(t *testing.T) storagetest.Place {
		dir := fmt.Sprintf("%s/%03d", root, n.Add(1))
		store, inner := at(t, m, dir)
		if err := store.MkdirAll(inner); err != nil {
			t.Fatal(err)
		}
		return storagetest.Place{Mux: m, Root: dir}
	}
}

func at(t testing.TB, m storage.Mux, full string) (storage.FS, string) {
	t.Helper()
	store, inner, err := m.Resolve(full)
	if err != nil {
		t.Fatal(err)
	}
	return store, inner
}

func put(store storage.FS, p, content string) error {
	w, err := store.Create(p)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, content)
	return errors.Join(err, w.Close())
}

// superuser is who has started the cluster: this process's user.
func superuser(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// admin does what only administrators do, by a call of its own.
func admin(t testing.TB, c *hadooptest.Cluster, method, p, op string, more ...string) {
	t.Helper()
	q := url.Values{"op": {op}, "user.name": {superuser(t)}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	var body io.Reader
	if op == "CREATE" {
		body = bytes.NewReader([]byte(q.Get("content")))
		q.Del("content")
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+c.WebHDFS()+"/webhdfs/v1"+p+"?"+q.Encode(), body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %s", op, p, resp.Status, text)
	}
}

// TestHDFS: a real HDFS of two data nodes.
func TestHDFS(t *testing.T) {
	c := hadooptest.Start(t, hadooptest.Config{})
	m := as(t, c.Conf, superuser(t))
	t.Run("Suite", func(t *testing.T) { storagetest.Run(t, places(m, "hdfs:///suite")) })
	t.Run("Spellings", func(t *testing.T) { spellings(t, c, m) })
	t.Run("EveryOffsetOfBlocks", func(t *testing.T) { everyOffset(t, c, m) })
	t.Run("Refusals", func(t *testing.T) { refusals(t, c) })
	t.Run("WrongPort", func(t *testing.T) { wrongPort(t, c, m) })
	t.Run("ManyFiles", func(t *testing.T) { manyFiles(t, m) })
	t.Run("SafeMode", func(t *testing.T) { safeMode(t, c, m) })
	t.Run("ADataNodeDies", func(t *testing.T) { aDataNodeDies(t, c, m) }) // the last: it does not come back
}

// spellings: one file by all its names, each of which is kept.
func spellings(t *testing.T, c *hadooptest.Cluster, m storage.Mux) {
	store, _ := at(t, m, "hdfs:///")
	if err := put(store, "/spelled", "x"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"hdfs:/spelled", "hdfs:///spelled", c.Value("core-site.xml", "fs.defaultFS") + "/spelled", "webhdfs://" + c.WebHDFS() + "/spelled"} {
		found, err := m.Expand([]string{p})
		if err != nil || len(found) != 1 || found[0].Path != p || found[0].Size != 1 {
			t.Errorf("%s: %v, %v", p, found, err)
		}
	}
	if in, err := m.Inside("hdfs:///", c.Value("core-site.xml", "fs.defaultFS")+"/spelled"); !in || err != nil {
		t.Errorf("two names of one HDFS are taken for two: %v", err)
	}
}

// everyOffset: ranges over the edges of blocks.
func everyOffset(t *testing.T, c *hadooptest.Cluster, m storage.Mux) {
	content := storagetest.Pattern(3*512 + 100)
	admin(t, c, "PUT", "/blocks", "CREATE", "blocksize", "512", "content", content)
	store, p := at(t, m, "hdfs:///blocks")
	f, err := store.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	storagetest.CheckReads(t, f, content, 512, 1024, 1536)
}

// refusals: who may not is told so, with the file and what to do.
func refusals(t *testing.T, c *hadooptest.Cluster) {
	admin(t, c, "PUT", "/hers", "MKDIRS", "permission", "755")
	admin(t, c, "PUT", "/hers/secret", "CREATE", "permission", "600", "content", "x")
	admin(t, c, "PUT", "/tight", "MKDIRS", "permission", "777")
	admin(t, c, "PUT", "/tight", "SETQUOTA", "namespacequota", "2")
	admin(t, c, "PUT", "/small", "MKDIRS", "permission", "777")
	admin(t, c, "PUT", "/small", "SETQUOTA", "storagespacequota", "1000000")
	bob, _ := at(t, as(t, c.Conf, "bob"), "hdfs:///")
	open := func() error {
		f, err := bob.Open("/hers/secret")
		if err == nil {
			_, err = f.ReadAt(make([]byte, 1), 0)
		}
		return err
	}
	for what, r := range map[string]struct {
		err   error
		is    error
		words []string
	}{
		"create": {put(bob, "/hers/new", storagetest.Pattern(300_000)), fs.ErrPermission, []string{"/hers/new", "bob", "HADOOP_USER_NAME"}},
		"make":   {bob.MkdirAll("/hers/new"), fs.ErrPermission, []string{"/hers/new"}},
		"remove": {bob.RemoveAll("/hers/secret"), fs.ErrPermission, []string{"/hers/secret"}},
		"move":   {bob.Rename("/hers/secret", "/tight/x"), fs.ErrPermission, []string{"/hers/secret"}},
		"read":   {open(), fs.ErrPermission, []string{"/hers/secret"}},
		"names":  {errors.Join(put(bob, "/tight/1", ""), put(bob, "/tight/2", "")), nil, []string{"/tight/2", "quota"}},
		"space":  {put(bob, "/small/f", "much"), nil, []string{"/small/f", "quota"}},
	} {
		if r.err == nil || r.is != nil && !errors.Is(r.err, r.is) {
			t.Errorf("%s: %v, want %v", what, r.err, r.is)
			continue
		}
		for _, w := range r.words {
			if !strings.Contains(r.err.Error(), w) {
				t.Errorf("%s: the error lacks %q: %v", what, w, r.err)
			}
		}
	}
}

// wrongPort: the port of Hadoop's own protocol is called by its name.
func wrongPort(t *testing.T, c *hadooptest.Cluster, m storage.Mux) {
	rpc := strings.TrimPrefix(c.Value("core-site.xml", "fs.defaultFS"), "hdfs://")
	if _, err := m.Expand([]string{"webhdfs://" + rpc + "/x"}); err == nil || !strings.Contains(err.Error(), "Hadoop's own protocol") {
		t.Errorf("the port of RPC: %v", err)
	}
}

// manyFiles: more than one page of names.
func manyFiles(t *testing.T, m storage.Mux) {
	store, dir := at(t, m, "hdfs:///many")
	for i := range 1100 { // directories are made faster than files
		if err := store.MkdirAll(fmt.Sprintf("%s/%04d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := store.ReadDir(dir)
	if err != nil || len(list) != 1100 || list[1099].Name() != "1099" {
		t.Errorf("%d names, %v", len(list), err)
	}
	if err := put(store, dir+"/1099/f", "x"); err != nil {
		t.Fatal(err)
	}
	if found, err := m.Expand([]string{"hdfs:///many/109*"}); err != nil || len(found) != 1 {
		t.Errorf("below more than a page: %v, %v", found, err)
	}
}

// safeMode: what must wait until the name node takes changes waits.
func safeMode(t *testing.T, c *hadooptest.Cluster, m storage.Mux) {
	store, p := at(t, m, "hdfs:///after")
	c.Do("safe-mode on")
	done := make(chan error)
	go func() { done <- store.MkdirAll(p) }()
	select {
	case err := <-done:
		t.Errorf("in safe mode: %v", err)
		c.Do("safe-mode off")
		return
	case <-time.After(200 * time.Millisecond): // or it has not asked yet: then there is nothing to wait for, and it must do as well
	}
	c.Do("safe-mode off")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// aDataNodeDies: in the middle of a read, which goes on by the other copy.
func aDataNodeDies(t *testing.T, c *hadooptest.Cluster, m storage.Mux) {
	content := storagetest.Pattern(6 << 20) // blocks are of 1 MiB
	store, p := at(t, m, "hdfs:///large")
	if err := put(store, p, content); err != nil {
		t.Fatal(err)
	}
	f, err := store.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, len(content))
	for off := 0; off < len(got); off += 100_000 {
		if off == 2_000_000 {
			c.Do("stop-data 0")
		}
		end := min(off+100_000, len(got))
		if _, err := f.ReadAt(got[off:end], int64(off)); err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != content {
		t.Error("other bytes than those written")
	}
}

// TestTwoNameNodes: the one on standby is passed over, also when it was the active one a moment ago.
func TestTwoNameNodes(t *testing.T) {
	c := hadooptest.Start(t, hadooptest.Config{DataNodes: 1, HA: true})
	m := as(t, c.Conf, superuser(t))
	store, dir := at(t, m, "hdfs://rig/d")
	if err := store.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := put(store, dir+"/1", "one"); err != nil {
		t.Fatal(err)
	}
	f, err := store.Open(dir + "/1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c.Do("active 1")
	if err := put(store, dir+"/2", "two"); err != nil {
		t.Error(err)
	}
	b := make([]byte, 3)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "one" {
		t.Errorf("a file opened before: %q, %v", b, err)
	}
	c.Do("active 0")
	if found, err := m.Expand([]string{"hdfs:///d", "hdfs://rig/d/2"}); err != nil || len(found) != 3 {
		t.Errorf("%v, %v", found, err)
	}
}
