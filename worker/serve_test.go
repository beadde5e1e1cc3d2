package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/worker/attempt"
	"github.com/millrace/millrace/worker/roster"
)

var served = wire.StageRef{Job: "job-1", Stage: 2}

func mapOf(ref wire.StageRef, index int32, try uint64) wire.AttemptID {
	return wire.AttemptID{Job: ref.Job, Stage: ref.Stage, Kind: wire.MapTask, Index: index, Try: try}
}

// collectMap makes the output of a map, with records in the first of two partitions only.
func collectMap(t *testing.T, o *outputs, id wire.AttemptID, value int) {
	t.Helper()
	dir, err := o.dir(wire.StageRef{Job: id.Job, Stage: id.Stage})
	if err != nil {
		t.Fatal(err)
	}
	c, err := shuffle.NewCollector(t.Context(), shuffle.Config{
		Dir: dir, Name: fmt.Sprintf("map-%05d-%d", id.Index, id.Try), Pool: shuffle.NewPool(1 << 20), Partitions: 2, FS: o.files,
		Partition: func(_, _ []byte) int { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Discard()
	for i := range 3 {
		if err := c.Add(fmt.Append(nil, "key-", i), bytes.Repeat([]byte{byte(id.Index)}, value)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	o.add(id, out)
}

// wantShare is what a reduce is sent of one map.
func wantShare(t *testing.T, o *outputs, id wire.AttemptID, part int) []byte {
	t.Helper()
	out := o.get(id)
	info := out.Info(part)
	f, err := o.files.Open(out.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stored := make([]byte, info.StoredBytes)
	if _, err := f.ReadAt(stored, info.Offset); err != nil {
		t.Fatal(err)
	}
	return append(attempt.AppendHead(nil, &attempt.SegmentHead{Map: id.Index, Try: id.Try, Name: fmt.Sprintf("map-%05d-%d", id.Index, id.Try), Info: info}), stored...)
}

// serving is a worker with the output of two maps: one in a pack, one in a file of its own.
func serving(t *testing.T) (*Worker, []wire.MapOutput) {
	t.Helper()
	o, _, err := openOutputs(t.TempDir(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.files.close(); err != nil {
			t.Error(err)
		}
	})
	w := &Worker{holdings: holdings{outputs: o}, connections: connections{server: rpc.NewServer(rpc.ServerConfig{})}}
	w.cfg = DefaultConfig()
	w.cfg.Node = "w1"
	var ids []wire.AttemptID
	for i, value := range []int{100, 3000} {
		id := mapOf(served, int32(i), uint64(7+i))
		if collectMap(t, o, id, value); len(o.files.files) != 1 {
			t.Fatalf("%d files are packed", len(o.files.files))
		}
		ids = append(ids, id)
	}
	w.duties = duties{news: make(chan struct{}, 1), roster: roster.New(roster.Config{Node: "w1", Held: ids})}
	return w, []wire.MapOutput{{Map: 0, Try: 7}, {Map: 1, Try: 8}}
}

func ask(w *Worker, c rpc.Caller, stage, query string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/shuffle/job-1/"+stage+"?"+query, nil)
	r.SetPathValue("job", "job-1")
	r.SetPathValue("stage", stage)
	rec := httptest.NewRecorder()
	w.serveShuffle(rec, r, c)
	return rec
}

// TestSharesOfMaps: a reduce gets the same bytes in this process and over the network, wherever the files lie, in whatever pieces it reads; and a word
// in place of what is not there.
func TestSharesOfMaps(t *testing.T) {
	w, maps := serving(t)
	refused := func(id wire.AttemptID, why string) []byte {
		return attempt.AppendHead(nil, &attempt.SegmentHead{Map: id.Index, Try: id.Try, Error: why})
	}
	stranger := mapOf(served, 1, 9)
	for _, x := range []struct {
		part  int
		maps  []wire.MapOutput
		query string
		want  []byte
	}{
		{0, maps, "p=0&m=0.7&m=1.8", append(wantShare(t, w.outputs, mapOf(served, 0, 7), 0), wantShare(t, w.outputs, mapOf(served, 1, 8), 0)...)},
		{1, maps, "p=1&m=0.7&m=1.8", append(wantShare(t, w.outputs, mapOf(served, 0, 7), 1), wantShare(t, w.outputs, mapOf(served, 1, 8), 1)...)},
		{2, maps[:1], "p=2&m=0.7", refused(mapOf(served, 0, 7), mapOf(served, 0, 7).String()+" has 2 partitions, not 3")},
		{0, []wire.MapOutput{{Map: 1, Try: 9}}, "p=0&m=1.9", refused(stranger, stranger.String()+" is not on node w1")},
	} {
		own := w.ownShares(served, x.part, x.maps)
		if got, err := io.ReadAll(iotest.OneByteReader(own)); err != nil || !bytes.Equal(got, x.want) || own.Close() != nil {
			t.Errorf("%s: in this process %d bytes, want %d, %v", x.query, len(got), len(x.want), err)
		}
		rec := ask(w, rpc.Caller{Node: "w2"}, "2", x.query)
		if rec.Code != http.StatusOK || !bytes.Equal(rec.Body.Bytes(), x.want) || rec.Header().Get("Content-Length") != fmt.Sprint(len(x.want)) {
			t.Errorf("%s: %d, %d bytes of %s, want %d", x.query, rec.Code, rec.Body.Len(), rec.Header().Get("Content-Length"), len(x.want))
		}
	}
	own := w.ownShares(served, 0, maps[1:])
	if _, err := own.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(own.Close(), own.Close()); err != nil {
		t.Error(err)
	}
}

// TestSharesAreRefused to tasks of other jobs, and where nobody can tell what is asked for.
func TestSharesAreRefused(t *testing.T) {
	w, _ := serving(t)
	node, task, other := rpc.Caller{Node: "w2"}, rpc.Caller{Job: "job-1"}, rpc.Caller{Job: "job-2"}
	for _, x := range []struct {
		c            rpc.Caller
		stage, query string
		want         int
	}{
		{node, "2", "p=0&m=0.7", http.StatusOK},
		{task, "2", "p=0&m=0.7", http.StatusOK},
		{other, "2", "p=0&m=0.7", http.StatusForbidden},
		{node, "x", "p=0&m=0.7", http.StatusBadRequest},
		{node, "2", "p=x&m=0.7", http.StatusBadRequest},
		{node, "2", "p=-1&m=0.7", http.StatusBadRequest},
		{node, "2", "p=0&m=0", http.StatusBadRequest},
		{node, "2", "p=0", http.StatusBadRequest},
	} {
		if rec := ask(w, x.c, x.stage, x.query); rec.Code != x.want || x.want != http.StatusOK && rec.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%+v asks for %s of stage %s: %d, want %d", x.c, x.query, x.stage, rec.Code, x.want)
		}
	}
}

// TestSharesOfDamagedFiles: a file that is shorter than its index says cuts the answer short, and one that is gone is told to the reduce; the master is told of both.
func TestSharesOfDamagedFiles(t *testing.T) {
	w, maps := serving(t)
	id := mapOf(served, 1, 8)
	path := w.outputs.get(id).Path()
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(w.ownShares(served, 0, maps[1:])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("the answer is not cut short: %v", err)
			}
		}()
		ask(w, rpc.Caller{Node: "w2"}, "2", "p=0&m=1.8")
	}()
	if len(w.news) != 1 {
		t.Error("the master is not told of what is too short")
	}
	late := w.ownShares(served, 0, maps[1:])
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(late); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a file that has gone meanwhile: %d bytes, %v", len(got), err)
	}
	got, err := io.ReadAll(w.ownShares(served, 0, maps))
	if head := wantShare(t, w.outputs, mapOf(served, 0, 7), 0); err != nil || !bytes.HasPrefix(got, head) || !strings.Contains(string(got[len(head):]), "gone from node w1") {
		t.Errorf("%q, %v", got[max(0, len(got)-200):], err)
	}
	var told []wire.AttemptID
	for _, h := range w.roster.Report().Held {
		if err := h.Each(func(id wire.AttemptID) { told = append(told, id) }); err != nil {
			t.Error(err)
		}
	}
	if len(w.news) != 1 || len(told) != 1 || told[0] != mapOf(served, 0, 7) {
		t.Errorf("the master is told of %v, nudges: %d", told, len(w.news))
	}
}

// TestOutputsAreFoundAgain: after a restart a worker has what it had, whether in packs or files, and nothing that is damaged, unfinished or of another.
func TestOutputsAreFoundAgain(t *testing.T) {
	root, other := t.TempDir(), wire.StageRef{Job: "job-1", Stage: 3}
	o, _, err := openOutputs(root, 4096)
	if err != nil {
		t.Fatal(err)
	}
	want := map[wire.AttemptID]bool{}
	for i, value := range []int{100, 3000, 200, 4000} {
		collectMap(t, o, mapOf(served, int32(i), 1), value)
		want[mapOf(served, int32(i), 1)] = i < 2
	}
	collectMap(t, o, mapOf(other, 0, 5), 100)
	want[mapOf(other, 0, 5)] = true
	packed, ok := o.files.find(o.get(mapOf(served, 2, 1)).Path())
	if !ok {
		t.Fatal("it is not packed")
	}
	dir := filepath.Join(root, dirName(served))
	for path, off := range map[string]int64{filepath.Join(dir, packName): packed.off + 8, o.get(mapOf(served, 3, 1)).Path(): 8} {
		turn(t, path, off) // the tag, which the index has, too
	}
	strangers := []string{"map-00009-1.seg", "map-00001-1.seg.tmp", "map-00001.seg", "map-x-1.seg", "map-1-x.seg", "reduce-00001-1.seg", "map-00001-1", "map-1-1-1.seg"}
	for _, name := range strangers {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("no output"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lost+found", "job-1.x", "job-1.-1"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.files.close(); err != nil {
		t.Fatal(err)
	}
	again, held, err := openOutputs(root, 4096)
	if err != nil || len(held) != 3 {
		t.Fatalf("%v are held, %v", held, err)
	}
	defer again.files.close()
	for id, good := range want {
		if got := again.get(id); (got != nil) != good || good && got.Info(0).Records != 3 {
			t.Errorf("%v: found %v, want %v", id, got != nil, good)
		}
	}
	for _, name := range append(strangers, "map-00003-1.seg") {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if _, packed := again.files.find(filepath.Join(dir, "map-00002-1.seg")); packed {
		t.Error("a damaged output is left in the pack")
	}
	if err := again.drop(served); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 4 || again.get(mapOf(served, 0, 1)) != nil || again.get(mapOf(other, 0, 5)) == nil {
		t.Errorf("a stage was dropped, and left are %v, %v", left, err)
	}
	if _, err := again.files.Open(again.get(mapOf(other, 0, 5)).Path()); err != nil {
		t.Errorf("the other stage: %v", err)
	}
}

// turn changes a byte of a file.
func turn(t *testing.T, path string, off int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[off] ^= 0x20
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
