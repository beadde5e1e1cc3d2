package names

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// storeRig is a namespace with one node for each of some racks: n0 is in the first.
func storeRig(t *testing.T, racks ...string) *rig {
	t.Helper()
	r := newRig(t)
	r.open()
	for i, rack := range racks {
		r.addNode(wire.NodeName(fmt.Sprint("n", i)), rack, 1<<39)
	}
	return r
}

// TestLocateRanges: of a file of three blocks of 1,000 bytes just those are told that overlap the range.
func TestLocateRanges(t *testing.T) {
	r := storeRig(t, "r", "r", "r")
	must(t, r.put(wire.CreateRequest{Path: "/f"}, 3, ""))
	for _, x := range []struct {
		off, length int64
		count       int
		want        string
	}{
		{0, -1, 0, "0 1000 2000"},
		{0, 0, 0, ""},
		{0, 1, 0, "0"},
		{0, 1000, 0, "0"},
		{0, 1001, 0, "0 1000"},
		{999, 1, 0, "0"},
		{999, 2, 0, "0 1000"},
		{1000, 1, 0, "1000"},
		{1000, 1000, 0, "1000"},
		{1500, 1 << 62, 0, "1000 2000"},
		{2999, 5, 0, "2000"},
		{3000, -1, 0, ""},
		{0, -1, 2, "0 1000"},
		{1000, -1, 1, "1000"},
		{-1, 1, 0, "invalid"},
		{0, -2, 0, "invalid"},
	} {
		resp, err := r.s.Locate(wire.LocateRequest{Path: "/f", Off: x.off, Len: x.length, Count: x.count})
		var got []string
		for _, b := range resp.Blocks {
			got = append(got, fmt.Sprint(b.Off))
		}
		if err != nil {
			got = []string{wire.KindOf(err).Error()}
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%d bytes from %d, at most %d blocks: %q, want %q", x.length, x.off, x.count, got, x.want)
		}
	}
}

// TestNearestFirst: the reader's own node is first, then those of its rack, then the others; nodes that are being emptied are last. Readers who are nowhere are
// spread over the replicas.
func TestNearestFirst(t *testing.T) {
	r := storeRig(t, "a", "a", "b", "b")
	must(t, r.put(wire.CreateRequest{Path: "/f", Replication: 4}, 4, ""))
	places := func(reader wire.NodeName) (out [][]string) {
		resp, err := r.s.Locate(wire.LocateRequest{Path: "/f", Len: -1, Reader: reader})
		must(t, err)
		for _, b := range resp.Blocks {
			var list []string
			for _, p := range b.Places {
				list = append(list, string(p.Node))
			}
			out = append(out, list)
		}
		return out
	}
	for _, list := range places("n1") {
		if len(list) != 4 || list[0] != "n1" || list[1] != "n0" {
			t.Errorf("n1, beside n0, is sent to %v", list)
		}
	}
	first := map[string]bool{}
	for _, list := range places("") {
		first[list[0]] = true
	}
	if len(first) != 4 {
		t.Errorf("four blocks, and readers are sent to %v", first)
	}
	_, err := r.s.Drain(wire.DrainRequest{Node: "n0"})
	must(t, err)
	for _, list := range places("n1") {
		if len(list) != 4 || list[0] != "n1" || list[3] != "n0" {
			t.Errorf("n0 is being emptied, and n1 is sent to %v", list)
		}
	}
}

// TestReportListsSickBlocks: of a file the report lists the blocks that are not healthy, and all of them only for those who ask for all.
func TestReportListsSickBlocks(t *testing.T) {
	r := storeRig(t, "r", "r", "r")
	must(t, r.put(wire.CreateRequest{Path: "/f"}, 2, ""))
	file, err := r.s.Locate(wire.LocateRequest{Path: "/f", Len: -1})
	must(t, err)
	sick := file.Blocks[1]
	must(t, r.rot(sick.Places[0].Node, sick.Block.ID))
	r.beat(sick.Places[0].Node)
	for _, all := range []bool{false, true} {
		out, err := r.s.Fsck(wire.FsckRequest{Path: "/", All: all})
		must(t, err)
		var got []wire.BlockID
		for _, b := range out.Files[0].Blocks {
			got = append(got, b.ID)
		}
		want := []wire.BlockID{sick.Block.ID}
		if all {
			want = []wire.BlockID{file.Blocks[0].Block.ID, sick.Block.ID}
		}
		if !slices.Equal(got, want) {
			t.Errorf("all %v: blocks %v, want %v", all, got, want)
		}
	}
}

// TestPagesOfTheReport: a report page by page names every file once, in order; one that goes on from elsewhere is refused.
func TestPagesOfTheReport(t *testing.T) {
	r := storeRig(t, "r", "r", "r")
	var want []string
	for _, p := range []string{"/a/b/x", "/a/b/y", "/a/c", "/a/d/z", "/b", "/c/e", "/d"} {
		must(t, r.put(wire.CreateRequest{Path: p, Parents: true}, 1, ""))
		want = append(want, p)
	}
	for _, x := range []struct {
		path string
		want []string
	}{{"/", want}, {"/a", want[:4]}, {"/a/b", want[:2]}, {"/b", want[4:5]}} {
		for limit := 1; limit <= 4; limit++ {
			var got []string
			req := wire.FsckRequest{Path: x.path, All: true, Limit: limit}
			for more := true; more; {
				page, err := r.s.Fsck(req)
				must(t, err)
				if len(page.Files) > limit || page.More && len(page.Files) != limit {
					t.Fatalf("%s: a page of %d files, at most %d", x.path, len(page.Files), limit)
				}
				for _, f := range page.Files {
					got = append(got, f.Path)
				}
				more, req.After = page.More, page.Last
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("%s by pages of %d: %v", x.path, limit, got)
			}
		}
	}
	for _, after := range []string{"/b", "/", "a", "/aa/b"} {
		if _, err := r.s.Fsck(wire.FsckRequest{Path: "/a", After: after}); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("/a from %s on: %v", after, err)
		}
	}
}

// TestModTimes: a directory is as new as the last change of its entries, a file as its end; a clock that goes back makes no directory older.
func TestModTimes(t *testing.T) {
	r := storeRig(t, "r", "r", "r")
	begin := r.wall
	mtime := func(path string) time.Duration {
		t.Helper()
		fi, err := r.s.Stat(wire.PathRequest{Path: path})
		must(t, err)
		return time.UnixMilli(fi.ModTime).Sub(begin)
	}
	at := func(d time.Duration, what string, err error, path string) {
		t.Helper()
		must(t, err)
		if got := mtime(path); got != d {
			t.Errorf("%s: %s is of %v, want %v", what, path, got, d)
		}
		r.wall = r.wall.Add(time.Second)
	}
	mkdir := func(path string) error {
		_, err := r.s.Mkdir(wire.MkdirRequest{Path: path})
		return err
	}
	at(0, "made", mkdir("/d"), "/d")
	at(time.Second, "made", mkdir("/e"), "/e")
	at(2*time.Second, "a directory in it", mkdir("/d/x"), "/d")
	at(3*time.Second, "a file in it", r.put(wire.CreateRequest{Path: "/d/f"}, 1, ""), "/d")
	at(4*time.Second, "taken out", r.rename("", "/d/f", "/e/f"), "/d")
	r.wall = r.wall.Add(-time.Second)
	at(4*time.Second, "put in", nil, "/e")
	at(3*time.Second, "moved, not changed", nil, "/e/f")
	at(6*time.Second, "removed", r.s.Delete(wire.DeleteRequest{Path: "/d/x"}), "/d")
	r.wall = begin
	at(6*time.Second, "at an earlier time", mkdir("/d/y"), "/d")
	r.restart()
	at(6*time.Second, "after a restart", nil, "/d")
	at(4*time.Second, "after a restart", nil, "/e")
}

// TestQuotasToTheLastByte: what just fits is allowed, and a quota of nothing allows nothing. Fewer replicas are allowed to whoever has too much.
func TestQuotasToTheLastByte(t *testing.T) {
	r := storeRig(t, "r", "r", "r")
	for _, p := range []string{"/full", "/none", "/over"} {
		_, err := r.s.Mkdir(wire.MkdirRequest{Path: p})
		must(t, err)
	}
	must(t, r.s.SetQuota(wire.QuotaRequest{Path: "/full", Files: 1, Bytes: 3000}))
	must(t, r.put(wire.CreateRequest{Path: "/full/f", Replication: 3}, 1, ""))
	must(t, r.s.SetQuota(wire.QuotaRequest{Path: "/none", Files: 0, Bytes: -1}))
	if _, err := r.s.Mkdir(wire.MkdirRequest{Path: "/none/d"}); wire.KindOf(err) != wire.Quota || err == nil {
		t.Errorf("a directory where none is allowed: %v", err)
	}
	must(t, r.s.SetQuota(wire.QuotaRequest{Path: "/none", Files: -1, Bytes: 0}))
	must(t, r.put(wire.CreateRequest{Path: "/none/empty"}, 0, ""))
	if err := r.put(wire.CreateRequest{Path: "/none/f", Replication: 1}, 1, ""); wire.KindOf(err) != wire.Quota || err == nil {
		t.Errorf("bytes where none are allowed: %v", err)
	}
	must(t, r.put(wire.CreateRequest{Path: "/over/f", Replication: 3}, 2, ""))
	must(t, r.s.SetQuota(wire.QuotaRequest{Path: "/over", Files: -1, Bytes: 10}))
	_, err := r.s.SetReplication(wire.SetReplicationRequest{Path: "/over/f", Replication: 2})
	must(t, err)
	if _, err := r.s.SetReplication(wire.SetReplicationRequest{Path: "/over/f", Replication: 3}); wire.KindOf(err) != wire.Quota || err == nil {
		t.Errorf("more replicas of what is too much: %v", err)
	}
	r.s.audit(t)
}
