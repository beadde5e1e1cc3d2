package names

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs/token"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// hear sends a heartbeat of a node, with what it tells, and does nothing of what the answer says.
func (r *rig) hear(name wire.NodeName, req wire.BeatRequest) wire.BeatResponse {
	r.t.Helper()
	w := r.nodes[name]
	req.Node, req.Session = name, w.session
	if req.Volumes == nil {
		req.Volumes = w.req.Volumes
	}
	resp, err := r.s.Beat(req)
	must(r.t, err)
	return resp
}

// TestReportsThatStop: the pages of a report may come slowly. One that does not go on is asked for again, from its beginning.
func TestReportsThatStop(t *testing.T) {
	r := storeRig(t, "r")
	resp, err := r.s.Register(r.nodes["n0"].req)
	must(t, err)
	r.nodes["n0"].session = resp.Session
	if !r.hear("n0", wire.BeatRequest{}).Report {
		t.Error("a node that has registered is not asked what it has")
	}
	page := func(n int, last bool) error {
		return r.s.Report(wire.ReportRequest{Node: "n0", Session: resp.Session, Page: n, Last: last})
	}
	must(t, page(0, false))
	r.now += reportPatience
	if r.hear("n0", wire.BeatRequest{}).Report {
		t.Error("asked for again while it is coming")
	}
	must(t, page(1, false))
	r.now += reportPatience + 1
	if !r.hear("n0", wire.BeatRequest{}).Report {
		t.Error("a report that stopped is not asked for again")
	}
	if err := page(2, true); wire.KindOf(err) != wire.Invalid || err == nil {
		t.Errorf("a page of the old report: %v", err)
	}
	must(t, page(0, true))
	if r.hear("n0", wire.BeatRequest{}).Report {
		t.Error("asked for again after it was whole")
	}
}

// TestFailedVolumes: a node of which a volume fails is asked once what is left, and what is gone is copied from elsewhere.
func TestFailedVolumes(t *testing.T) {
	r := storeRig(t, "r", "r", "r", "r")
	must(t, r.put(wire.CreateRequest{Path: "/f"}, 1, "n0"))
	good := wire.Volume{ID: "v", Total: 1 << 40, Free: 1 << 39}
	if r.hear("n0", wire.BeatRequest{Volumes: []wire.Volume{good, good}}).Report {
		t.Error("a second volume makes the report old")
	}
	bad := []wire.Volume{good, {ID: "w", Failed: "input/output error"}}
	if !r.hear("n0", wire.BeatRequest{Volumes: bad}).Report {
		t.Error("nobody asks what is left")
	}
	must(t, r.s.Report(wire.ReportRequest{Node: "n0", Session: r.nodes["n0"].session, Last: true}))
	if r.hear("n0", wire.BeatRequest{Volumes: bad}).Report {
		t.Error("asked again although nothing has failed since")
	}
	if out, err := r.s.Fsck(wire.FsckRequest{Path: "/"}); err != nil || out.Under != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	clear(r.nodes["n0"].has)
	r.nodes["n0"].received = nil
	r.step(5 * time.Second)
	if log := r.takeLog(); !strings.Contains(log, "copies 1 to n") {
		t.Errorf("nodes were told: %s", log)
	}
	if out, err := r.s.Fsck(wire.FsckRequest{Path: "/"}); err != nil || out.Under != 0 {
		t.Errorf("after a while: %+v, %v", out, err)
	}
}

// TestDeletesAreRepeated: replicas are to be deleted after a while, the oldest first, some with each answer; one that nobody confirms is sent again.
func TestDeletesAreRepeated(t *testing.T) {
	r := newRig(t)
	r.cfg.DeletesPerBeat = 2
	r.open()
	r.addNode("n0", "r", 1<<39)
	must(t, r.put(wire.CreateRequest{Path: "/f", Replication: 1}, 5, ""))
	r.step(time.Second)
	must(t, r.s.Delete(wire.DeleteRequest{Path: "/f"}))
	told := func(req wire.BeatRequest, want ...wire.BlockID) {
		t.Helper()
		var got []wire.BlockID
		for _, b := range r.hear("n0", req).Delete {
			got = append(got, b.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %v: told to delete %v, want %v", r.now, got, want)
		}
	}
	no := wire.BeatRequest{}
	told(no)
	r.now += r.cfg.DeleteDelay - 1
	told(no)
	r.now++
	told(no, 1, 2)
	told(no, 3, 4)
	told(no, 5)
	told(no)
	r.now += r.cfg.CommandTimeout - 1
	told(no)
	r.now++
	told(no, 1, 2)
	told(wire.BeatRequest{Deleted: []wire.Block{{ID: 1, Gen: 1}, {ID: 3, Gen: 3}}}, 4, 5)
	r.now += r.cfg.CommandTimeout
	told(no, 2, 4)
	told(no, 5)
	told(no)
}

// TestDeletedUnasked: a node says that a replica is gone of which nobody had asked that. It is copied from elsewhere; if what is gone is of an earlier
// generation, or of no file, nothing is amiss.
func TestDeletedUnasked(t *testing.T) {
	r := storeRig(t, "r", "r", "r", "r")
	must(t, r.put(wire.CreateRequest{Path: "/f"}, 1, "n0"))
	r.step(time.Second)
	under := func(what string, want int64) {
		t.Helper()
		if out, err := r.s.Fsck(wire.FsckRequest{Path: "/"}); err != nil || out.Under != want {
			t.Errorf("%s: %+v, %v", what, out, err)
		}
	}
	have := r.nodes["n0"].has[1]
	r.hear("n0", wire.BeatRequest{Deleted: []wire.Block{{ID: 77, Gen: 1}, {ID: have.ID, Gen: have.Gen - 1}}})
	under("others are gone", 0)
	r.hear("n0", wire.BeatRequest{Deleted: []wire.Block{have}})
	under("it is gone", 1)
	delete(r.nodes["n0"].has, have.ID)
	r.step(5 * time.Second)
	under("after a while", 0)
}

// TestBalanceAnswers: what balancing is told and tells.
func TestBalanceAnswers(t *testing.T) {
	r := storeRig(t, "r", "r", "r")
	for _, x := range []float64{-0.1, 1, 2} {
		if _, err := r.s.Balance(wire.BalanceRequest{Set: "start", Threshold: x}); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("threshold %v: %v", x, err)
		}
	}
	ask := func(set string, threshold float64) wire.BalanceStatus {
		t.Helper()
		st, err := r.s.Balance(wire.BalanceRequest{Set: set, Threshold: threshold})
		must(t, err)
		return st
	}
	if st := ask("stop", 0); st.Running || st.Why != "" {
		t.Errorf("stopped before it began: %+v", st)
	}
	fill := func(used ...int64) {
		for i, u := range used {
			r.nodes[wire.NodeName(fmt.Sprint("n", i))].req.Volumes = []wire.Volume{{ID: "v", Total: 100, Free: 100 - u}, {ID: "w", Total: 1000, Failed: "gone"}}
		}
		r.step(500 * time.Millisecond)
	}
	fill(20, 50, 80) // none of it blocks
	if st := ask("", 0); st.Mean != 0.5 || st.Worst < 0.299 || st.Worst > 0.301 {
		t.Errorf("%+v, want a mean of 0.5 and 0.3 from it", st)
	}
	if st := ask("start", 0.3); !st.Running {
		t.Errorf("started: %+v", st)
	}
	if st := ask("stop", 0); st.Running || !strings.Contains(st.Why, "stopped") {
		t.Errorf("stopped: %+v", st)
	}
	ask("start", 0)
	r.step(balancePatience)
	if st := ask("", 0); !st.Running {
		t.Errorf("given up too early: %+v", st)
	}
	r.step(time.Second)
	if st := ask("", 0); st.Running || !strings.Contains(st.Why, "nothing more") {
		t.Errorf("nothing can be moved: %+v", st)
	}
	fill(45, 50, 55) // within a tenth
	ask("start", 0)
	r.step(500 * time.Millisecond)
	if st := ask("", 0); st.Running || !strings.Contains(st.Why, "within") {
		t.Errorf("all are near the mean: %+v", st)
	}
	fill(20, 50, 80)
	_, err := r.s.Drain(wire.DrainRequest{Node: "n2", Force: true})
	must(t, err)
	r.nodes["n1"].up = false
	r.step(11 * time.Second)
	if st := ask("", 0); st.Mean != 0.2 || st.Worst != 0 {
		t.Errorf("of three nodes one is left: %+v", st)
	}
}

// TestSafeModeRefusesWriters: in safe mode no file is made, grows or is closed; afterwards the writer goes on.
func TestSafeModeRefusesWriters(t *testing.T) {
	r := storeRig(t, "r", "r", "r")
	f, err := r.s.Create(wire.CreateRequest{Path: "/f", Holder: "h", BlockSize: 1000})
	must(t, err)
	for _, set := range []string{"enter", "leave"} {
		_, err := r.s.SafeMode(wire.SafeModeRequest{Set: set})
		must(t, err)
		_, made := r.s.Create(wire.CreateRequest{Path: "/" + set, Holder: "h", BlockSize: 1000})
		_, grown := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h"})
		_, closed := r.s.Complete(wire.CompleteRequest{File: f.File.ID, Holder: "h"})
		for what, err := range map[string]error{"made": made, "grown": grown, "closed": closed} {
			if refused := wire.KindOf(err) == wire.Unavailable; refused != (set == "enter") || err != nil && !refused {
				t.Errorf("%s: a file is %s: %v", set, what, err)
			}
		}
	}
}

// TestNodesThatJustFit: a node can take a block that fills it to the last byte, and none that is larger.
func TestNodesThatJustFit(t *testing.T) {
	for free, fits := range map[int64]bool{1000: true, 999: false} {
		r := newRig(t)
		r.open()
		r.addNode("n0", "r", free)
		r.now += time.Hour
		r.beat("n0")
		f, err := r.s.Create(wire.CreateRequest{Path: "/f", Holder: "h", BlockSize: 1000})
		must(t, err)
		if _, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h"}); (err == nil) != fits {
			t.Errorf("%d bytes are free for 1000: %v", free, err)
		}
	}
}

// TestSafeModeByHand: who ends safe mode although the nodes are silent has it ended; when they were back and are silent again, it begins again.
func TestSafeModeByHand(t *testing.T) {
	r := storeRig(t, "r", "r", "r")
	must(t, r.put(wire.CreateRequest{Path: "/f"}, 1, "n0"))
	r.step(time.Second)
	on := func(set string) bool {
		t.Helper()
		m, err := r.s.SafeMode(wire.SafeModeRequest{Set: set})
		must(t, err)
		return m.On
	}
	up := func(is bool) {
		for _, w := range r.nodes {
			w.up = is
		}
		r.step(15 * time.Second)
	}
	up(false)
	if !on("") {
		t.Fatal("all are silent, and safe mode is off")
	}
	if on("leave") {
		t.Error("it cannot be left")
	}
	r.step(time.Second)
	if on("") {
		t.Error("it is on again at once")
	}
	up(true)
	up(false)
	if !on("") {
		t.Error("all are silent again, and safe mode is off")
	}
}

// TestTooFewWouldStay: a node is emptied only if the others can hold all replicas, or by force; dead ones and those that are being emptied cannot.
func TestTooFewWouldStay(t *testing.T) {
	r := storeRig(t, "r", "r", "r", "r", "r", "r")
	drain := func(name wire.NodeName, force bool) error {
		_, err := r.s.Drain(wire.DrainRequest{Node: name, Force: force})
		return err
	}
	must(t, drain("n0", false))
	r.nodes["n1"].up = false
	r.step(11 * time.Second)
	must(t, drain("n2", false)) // n3, n4 and n5 stay
	if err := drain("n3", false); wire.KindOf(err) != wire.Invalid || err == nil {
		t.Errorf("two would stay: %v", err)
	}
	must(t, drain("n3", true))
	r.restart() // nobody has registered yet
	n, err := r.s.Drain(wire.DrainRequest{Node: "n3", Undo: true})
	if err != nil || n.State != "dead" || n.Node != "n3" {
		t.Errorf("undone before it is back: %+v, %v", n, err)
	}
	r.step(5 * time.Second)
	var states []string
	for _, n := range r.s.Nodes() {
		states = append(states, string(n.Node)+" "+n.State)
	}
	if got := strings.Join(states, ", "); got != "n0 drained, n2 drained, n3 live, n4 live, n5 live" {
		t.Error(got)
	}
}

// TestKeysOfTokens: a node knows each key before it signs, and until its last token ends; then it is forgotten.
func TestKeysOfTokens(t *testing.T) {
	r := newRig(t)
	m := newMint(&r.cfg, 3)
	if r.cfg.KeyEvery != time.Hour || r.cfg.TokenLife != time.Hour {
		t.Fatal("the times below are for keys and tokens of an hour")
	}
	ids := func(newest uint64) (out []uint64) {
		for _, k := range m.tell(newest) {
			out = append(out, k.ID-3<<24)
		}
		return out
	}
	ann, blk := rpc.Caller{User: "ann"}, wire.Block{ID: 7, Gen: 2}
	var ring token.Ring
	check := func(text string) error { return ring.Check(text, blk, token.Read, ann, r.now) }
	ring.Add(m.tell(0), r.now)
	old := ""
	for hour, want := range [][]uint64{{1, 2}, {1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}, {3, 4, 5, 6}} {
		r.now = time.Duration(hour)*time.Hour - 1
		m.turn(r.now)
		before := ids(0)
		r.now++
		m.turn(r.now)
		if got := ids(0); !slices.Equal(got, want) || hour > 0 && len(before) == len(got) && before[0] == got[0] {
			t.Errorf("after %d hours: keys %v, just before %v; want %v", hour, got, before, want)
		}
		if ids(3<<24|want[len(want)-1]) != nil {
			t.Errorf("after %d hours: told to a node that knows them", hour)
		}
		text := m.sign(ann, blk, token.Read)
		must(t, check(text)) // with what it was told an hour ago
		if old != "" {
			must(t, check(old))
			r.now += time.Second
			if err := check(old); wire.KindOf(err) != wire.Stale || err == nil {
				t.Errorf("a token of more than an hour: %v", err)
			}
			r.now -= time.Second
		}
		old = text
		ring.Add(m.tell(ring.Newest()), r.now)
	}
}

// TestOddRecoveries: of a file whose writer has died the last block is brought to one length by a node that has it. What cannot be, or is of an attempt
// that was given up, closes nothing.
func TestOddRecoveries(t *testing.T) {
	r := newRig(t)
	r.cfg.LeaseTimeout = 3 * time.Second
	r.open()
	for i := range 3 {
		r.addNode(wire.NodeName(fmt.Sprint("n", i)), "r", 1<<39)
	}
	f, err := r.s.Create(wire.CreateRequest{Path: "/f", Holder: "h", BlockSize: 1000})
	must(t, err)
	p, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h"})
	must(t, err)
	pass := func(d time.Duration) (work []wire.RecoverWork, at wire.NodeName) {
		r.now += d
		for range 2 {
			for _, name := range []wire.NodeName{"n0", "n1", "n2"} {
				if got := r.hear(name, wire.BeatRequest{}).Recover; len(got) > 0 {
					work, at = append(work, got...), name
				}
			}
			must(t, r.s.Tick())
		}
		return work, at
	}
	if work, _ := pass(3 * time.Second); work != nil {
		t.Fatalf("the lease has not ended: %v", work)
	}
	first, at := pass(1)
	if len(first) != 1 || len(first[0].Places) != 3 {
		t.Fatalf("told to recover %+v", first)
	}
	if again, _ := pass(4 * time.Second); again != nil {
		t.Errorf("told again while the first may be busy: %+v", again)
	}
	pass(4 * time.Second)
	second, other := pass(2 * time.Second)
	if len(second) != 1 || other == at || second[0].NewGen <= first[0].NewGen {
		t.Fatalf("after the first attempt: %s is told %+v", other, second)
	}
	gen := second[0].NewGen
	for what, d := range map[string]wire.Recovered{
		"of the first attempt":      {Block: wire.Block{ID: p.Block.ID, Gen: first[0].NewGen, Len: 10}, Stored: []wire.NodeName{"n0"}},
		"of another block":          {Block: wire.Block{ID: 99, Gen: gen, Len: 10}, Stored: []wire.NodeName{"n0"}},
		"longer than a block":       {Block: wire.Block{ID: p.Block.ID, Gen: gen, Len: 1001}, Stored: []wire.NodeName{"n0"}},
		"shorter than nothing":      {Block: wire.Block{ID: p.Block.ID, Gen: gen, Len: -1}, Stored: []wire.NodeName{"n0"}},
		"on no node":                {Block: wire.Block{ID: p.Block.ID, Gen: gen, Len: 10}},
		"nothing, and n0 alone was": {Block: wire.Block{ID: p.Block.ID, Gen: gen}},
	} {
		r.hear("n0", wire.BeatRequest{Done: []wire.Recovered{d}})
		if fi, err := r.s.Stat(wire.PathRequest{Path: "/f"}); err != nil || !fi.Open {
			t.Errorf("%s: %+v, %v", what, fi, err)
		}
	}
	r.hear("n1", wire.BeatRequest{Done: []wire.Recovered{{Block: wire.Block{ID: p.Block.ID, Gen: gen, Len: 1000}, Stored: []wire.NodeName{"n1", "n2"}, CRC: 5, HasCRC: true}}})
	fi, err := r.s.Stat(wire.PathRequest{Path: "/f"})
	if err != nil || fi.Open || fi.Len != 1000 || !fi.HasCRC || fi.CRC != 5 {
		t.Errorf("recovered: %+v, %v", fi, err)
	}
	resp, err := r.s.Locate(wire.LocateRequest{Path: "/f", Len: -1})
	if err != nil || len(resp.Blocks) != 1 || len(resp.Blocks[0].Places) != 2 {
		t.Errorf("it is at %+v, %v", resp.Blocks, err)
	}
	r.s.audit(t)
}

// TestPipelinesAnew: a pipeline that broke gets each living node once, none that is dead, and none that the writer excludes.
func TestPipelinesAnew(t *testing.T) {
	r := storeRig(t, "r", "r", "r", "r", "r")
	f, err := r.s.Create(wire.CreateRequest{Path: "/f", Holder: "h", BlockSize: 1000})
	must(t, err)
	p, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h", Writer: "n0", Exclude: []wire.NodeName{"n3", "n4", "nobody"}})
	must(t, err)
	r.nodes["n1"].up = false
	r.step(11 * time.Second)
	p, err = r.s.Bump(wire.BumpRequest{File: f.File.ID, Holder: "h", Block: p.Block, Alive: []wire.NodeName{"n2", "n2", "n1", "nobody"}, Exclude: []wire.NodeName{"n0"}})
	must(t, err)
	var got []string
	for _, place := range p.Places {
		got = append(got, string(place.Node))
	}
	first := got[0]
	slices.Sort(got)
	if strings.Join(got, " ") != "n2 n3 n4" || first != "n2" {
		t.Errorf("%s first, of %v", first, got)
	}
	for what, b := range map[string]wire.Block{"another block": {ID: 9, Gen: 1}, "a generation that was never given out": {ID: p.Block.ID, Gen: p.Block.Gen + 1}} {
		if _, err := r.s.Bump(wire.BumpRequest{File: f.File.ID, Holder: "h", Block: b}); wire.KindOf(err) != wire.Stale || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRacksOfReaders: blocks go to the racks where a plan says that they will be read, unless the writer says otherwise.
func TestRacksOfReaders(t *testing.T) {
	r := newRig(t)
	r.cfg.Readers = func(path, user string) []string {
		if path == "/planned" && user == "ann" {
			return []string{"b"}
		}
		return nil
	}
	r.open()
	for i, rack := range []string{"a", "b", "c", "a", "c"} {
		r.addNode(wire.NodeName(fmt.Sprint("n", i)), rack, 1<<39)
	}
	for _, x := range []struct {
		path  string
		hints []string
		want  string
	}{{"/planned", nil, "b"}, {"/planned", []string{"c", "nowhere"}, "c"}, {"/other", []string{"b"}, "b"}, {"/other", nil, "a"}} {
		f, err := r.s.Create(wire.CreateRequest{Path: x.path, User: "ann", Holder: "h", Overwrite: true})
		must(t, err)
		p, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h", Writer: "n0", Hints: x.hints})
		must(t, err)
		if p.Places[0].Rack != x.want {
			t.Errorf("%s with the hints %v: %v, want rack %s first", x.path, x.hints, p.Places, x.want)
		}
		must(t, r.s.Abandon(wire.LeaseRequest{File: f.File.ID, Holder: "h"}))
	}
}

// TestRacksWithoutAName: a node that says no rack is in one called default; another opening of the service gives out other sessions.
func TestRacksWithoutAName(t *testing.T) {
	r := storeRig(t, "")
	if n := r.s.Nodes(); len(n) != 1 || n[0].Rack != "default" {
		t.Errorf("%+v", n)
	}
	first := r.nodes["n0"].session
	r.restart()
	r.startNode("n0")
	if second := r.nodes["n0"].session; second == first {
		t.Errorf("session %d again", second)
	}
	r.s.Lost("nobody")
}
