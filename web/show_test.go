package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/web"
)

// asked is a request as it was sent.
func asked(t *testing.T, says answers, path, method string) string {
	t.Helper()
	got := "nobody asked"
	look(web.Config{Call: func(ctx context.Context, m string, req, resp any) error {
		if m == method {
			b, err := json.Marshal(req)
			if err != nil {
				t.Error(err)
			}
			got = string(b)
		}
		return says.call(ctx, m, req, resp)
	}}, path)
	return got
}

func jobs(n int, from int64) (list []wire.JobStatus) {
	for i := range n {
		list = append(list, wire.JobStatus{Job: wire.JobID(fmt.Sprintf("job-%d", i+1)), State: wire.Running, Submitted: from - int64(i)*1000})
	}
	return list
}

// ran is a job of 30 s: a map that took 9 s, and a reduce and a driver that run.
var ran = answers{
	api.ClusterLoad.Name: wire.Load{Now: 31_000},
	api.JobStatus.Name:   wire.JobStatus{Job: "job-1", State: wire.Running, Submitted: 1000, Counts: wire.Counts{"b": {"y": 1}, "a": {"z": 2, "x": 3}}},
	api.HistoryJob.Name: wire.PastSummary{PastJob: wire.PastJob{Job: "job-1", Submitted: 1e9}, Phases: []wire.Phase{
		{Name: "map", Begin: 2e9, End: 11e9}, {Name: "reduce", Begin: 11e9},
	}},
	api.HistoryEvents.Name: wire.PastEvents{Events: []wire.PastEvent{
		{At: 2e9, Kind: wire.PastLaunched, Task: wire.MapTask, Index: 4, Try: 1, Node: "w1", Locality: "remote"},
		{At: 11e9, Kind: wire.PastDone, Task: wire.MapTask, Index: 4, Try: 1, Node: "w1"},
		{At: 12e9, Kind: wire.PastLaunched, Task: wire.ReduceTask, Try: 2, Node: "w1"},
		{At: 1e9, Kind: wire.PastLaunched, Task: wire.DriverTask, Try: 3, Node: "w1"},
	}},
	api.JobWhy.Name: wire.Text{Text: "others come first"},
}

// but is a with one answer more.
func (a answers) but(method string, says any) answers {
	out := answers{method: says}
	for m, s := range a {
		if m != method {
			out[m] = s
		}
	}
	return out
}

// TestPagesShow: what a page is about is on it, in the reader's units and order, and what is not so is not.
func TestPagesShow(t *testing.T) {
	const span = `<title>map 4 on w1, 1.00 s to 10.00 s (9.00 s)</title>`
	dir := wire.FileInfo{Path: "/d", Dir: true}
	for _, c := range []struct {
		path      string
		says      answers
		want, not []string // the wanted in this order
	}{
		{
			"/",
			answers{
				api.NodeList.Name: []wire.NodeStatus{
					containers("w1", "r2", "up", 2, 3), containers("w3", "r1", "draining", 2, 1), containers("w2", "r1", "down", 4, 0), containers("w4", "r1", "up", 1998, 7), containers("w5", "r1", "up", 3, 1),
				},
				api.QueueList.Name: []wire.QueueStatus{{Running: 3, Waiting: 2, Pending: 40}, {Running: 1, Waiting: 1, Pending: 2}},
				api.JobList.Name:   jobs(2, 5000), api.ClusterLoad.Name: wire.Load{Now: 65_000}, api.NetStatus.Name: wire.NetStatus{Racks: []wire.NetRack{{Rack: "r9", Congested: true}}},
			},
			[]string{
				"node w2 is down", "node w3 is draining", "the link of rack r9 is congested", "3 of 5", "12 of 2,005", "<b>4</b><span>jobs run, 3 wait", "<b>42</b><span>tasks", "job-1", ">1m0s<", "job-2", "there are 5 <a", "<h3>r1",
				`>w3</span><span class="cells"><span class="box used"></span><span class="box"></span></span>`, ">w2</span><span>down<", ">w4</span><span>7 of 1998<", `>w5</span><span class="cells"><span class="box used"></span><span class="box"></span><span class="box"></span></span>`,
				"<h3>r2", `>w1</span><span class="cells"><span class="box used"></span><span class="box used"></span><span class="box used"></span></span>`,
			},
			nil,
		},
		{"/", answers{api.QueueList.Name: []wire.QueueStatus{{Running: 1, Waiting: 1}}, api.JobList.Name: jobs(2, 0)}, nil, []string{"The newest; there are"}},
		{
			"/jobs",
			answers{
				api.JobList.Name: jobs(3, 9000),
				api.HistoryList.Name: wire.PastJobs{Jobs: []wire.PastJob{
					{Job: "job-9", State: wire.Failed, Submitted: 1e9, Ended: 6e9, SubmittedWall: 86_400_000}, {Job: "job-8"}, {Job: "job-7", Ended: 1},
				}},
			},
			[]string{"job-3", "job-2", "job-1", "job-9", ">5.00s<", "1970-01-02 00:00:00", "job-7"},
			[]string{"job-8", "The newest 500", "older"},
		},
		{"/jobs", answers{api.JobList.Name: jobs(500, 0)}, []string{"job-500<"}, []string{"The newest 500"}},
		{"/jobs", answers{api.JobList.Name: jobs(501, 0), api.HistoryList.Name: wire.PastJobs{Problem: "a page is torn"}}, []string{"a page is torn", "job-500<", "The newest 500"}, []string{"job-501<"}},
		{
			"/jobs?user=ann&state=FAILED",
			answers{api.JobList.Name: jobs(3, 0), api.HistoryList.Name: wire.PastJobs{Jobs: []wire.PastJob{{Job: "job-9", Ended: 1}, {Job: "job-8", Ended: 1}}, More: true}},
			[]string{"<option>SUCCEEDED", "<option selected>FAILED", "<option>CANCELLED", "job-9", "job-8", "/jobs?before=job-8&amp;state=FAILED&amp;user=ann"},
			[]string{"job-1", "Not ended", "QUEUED", "data-live=\"off\""},
		},
		{
			"/nodes",
			answers{
				api.NodeList.Name: []wire.NodeStatus{containers("w1", "r1", "up", 2, 1), containers("w2", "r1", "up", 2, 1), containers("w3", "r1", "up", 2, 1)},
				api.DFSNodes.Name: []wire.StoreNode{{Place: wire.Place{Node: "w2"}, State: "dead", Blocks: 77, Volumes: []wire.Volume{{Total: 3 << 30, Free: 1 << 30}, {Total: 5 << 30, Free: 2 << 30}}}},
				api.NetStatus.Name: wire.NetStatus{Nodes: []wire.NetNode{
					{Node: "w3", Idle: 25, NetLink: wire.NetLink{UpBytes: 7 << 20}}, {Node: "w2", Idle: 100},
				}},
			},
			[]string{">w1<", ">w2<", "0 % busy", "77<", "dead", "3.00 GiB of 8.00 GiB", ">w3<", "75 % busy", "7.00 MiB"},
			[]string{"No worker has joined"},
		},
		{
			"/network",
			answers{api.NetStatus.Name: wire.NetStatus{Racks: []wire.NetRack{{Rack: "r10", To: []int64{0, 5 << 20}}, {Rack: "r2", To: []int64{7 << 19}}}}},
			[]string{"r2, r2: 0 MiB", "r2, r10: 3.5 MiB", "r10, r2: 5 MiB", "r10, r10: 0 MiB"},
			nil,
		},
		{"/files/d/", answers{api.DFSStat.Name: dir, api.DFSList.Name: wire.ListResponse{Entries: []wire.FileInfo{{Path: "/d/a"}, {Path: "/d/b"}}, More: true}}, []string{`"/files/d/a">a<`, `"/files/d/b">b<`, `"?after=b"`}, nil},
		{"/files/d/", answers{api.DFSStat.Name: dir, api.DFSList.Name: wire.ListResponse{Entries: []wire.FileInfo{{Path: "/d/a"}}}}, []string{`"/files/d/a">a<`}, []string{"?after="}},
		{"/files/d/", answers{api.DFSStat.Name: dir, api.DFSList.Name: wire.ListResponse{More: true}}, []string{"Nothing is here"}, []string{"?after="}},
		{
			"/files/f",
			answers{api.DFSStat.Name: wire.FileInfo{Path: "/f", Blocks: 3}, api.DFSLocate.Name: wire.LocateResponse{Blocks: []wire.LocatedBlock{
				{Places: []wire.Place{{Node: "w3"}, {Node: "w1"}}}, {Off: 2 << 20, Places: []wire.Place{{Node: "w1"}}},
			}}},
			[]string{"<th>w1</th><th>w3</th>", "●", "●", "2.00 MiB", "●", "<td></td>", "The first 2 of 3 blocks"},
			[]string{"<th>w1</th><th>w1</th>"},
		},
		{
			"/files/f",
			answers{api.DFSStat.Name: wire.FileInfo{Path: "/f", Blocks: 1}, api.DFSLocate.Name: wire.LocateResponse{Blocks: make([]wire.LocatedBlock, 1)}},
			[]string{"Where its blocks are"},
			[]string{"The first 1 of 1"},
		},
		{
			"/jobs/job-1", ran,
			[]string{
				"<span>for 30s<", "others come first", "from=1.000&amp;to=10.000", "from=10.000&amp;to=30.000", ">w1<", ">w1 · 2<",
				"driver 0 on w1, 0.00 s to 30.00 s (30.00 s), runs", `class="span f1"`, span, "reduce 0 on w1, 11.00 s to 30.00 s", ">a<", ">x<", ">a<", ">z<", ">b<", ">y<", "job kill",
			},
			[]string{"too many to draw", "job history"},
		},
		{"/jobs/job-1?from=1&to=11", ran, []string{"driver 0", span, "reduce 0 on"}, nil},
		{"/jobs/job-1?from=10.5&to=20", ran, []string{"driver 0", "reduce 0 on"}, []string{span}},
		{"/jobs/job-1?from=1&to=10", ran, []string{span}, []string{"reduce 0 on"}},
		{"/jobs/job-1?from=20&to=10", ran, []string{span, "reduce 0 on"}, nil},
		{"/jobs/job-1?from=-5&to=NaN", ran, []string{span, "reduce 0 on"}, nil},
		{
			"/jobs/job-1", ran.but(api.JobStatus.Name, wire.JobStatus{Job: "job-1", State: wire.Succeeded, Submitted: 1000, Ended: 26_000, Output: "dfs:/out"}),
			[]string{"after 25.00s", `"/files/out"`, "job history"},
			[]string{"others come first", "job kill"},
		},
		{"/jobs/job-1", ran.but(api.HistoryJob.Name, nil), []string{"there is no history of this job"}, []string{span}},
		{"/jobs/job-1", ran.but(api.HistoryEvents.Name, wire.Errorf(wire.Unavailable, "the disk is slow")), []string{"for 30s", "the disk is slow"}, []string{"<svg"}},
		{
			"/jobs/job-1/log?stage=0&task=map&index=0&try=1",
			answers{api.JobLog.Name: wire.Log{Text: []byte("a <b>"), Node: "w7", Open: true}},
			[]string{"data-live", "On node w7; it still runs", "a &lt;b&gt;"},
			nil,
		},
		{"/jobs/job-1/log?stage=0&task=map&index=0&try=1", answers{api.JobLog.Name: wire.Log{Node: "w7"}}, []string{"On node w7.", "It has printed nothing"}, []string{"data-live"}},
	} {
		rec := look(web.Config{Call: c.says.call}, c.path)
		body := rec.Body.String()
		rest := body
		for _, want := range c.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%s: %q is not shown, or not in its place:\n%s", c.path, want, body)
				break
			}
			rest = after
		}
		for _, not := range c.not {
			if strings.Contains(body, not) {
				t.Errorf("%s: %q is shown", c.path, not)
			}
		}
		if rec.Code != http.StatusOK {
			t.Errorf("%s: %d", c.path, rec.Code)
		}
	}
}

// TestPagesAsk: a page asks for what its address names.
func TestPagesAsk(t *testing.T) {
	dir := answers{api.DFSStat.Name: wire.FileInfo{Dir: true}}
	for _, c := range []struct {
		path, method string
		says         answers
		want         string
	}{
		{"/jobs?user=ann&state=FAILED&before=job-5", api.HistoryList.Name, nil, `{"user":"ann","state":"FAILED","limit":100,"before":"job-5"}`},
		{"/jobs?before=job-5", api.JobList.Name, nil, "nobody asked"}, // an older page is about what has ended
		{"/jobs?user=ann", api.JobList.Name, nil, "nobody asked"},
		{"/jobs", api.JobList.Name, nil, `{"active":true,"limit":501}`},
		{"/files/a//b/../c", api.DFSStat.Name, nil, "nobody asked"}, // the browser is sent to /files/a/c
		{"/files/a", api.DFSStat.Name, nil, `{"path":"/a"}`},
		{"/files/a?after=x", api.DFSList.Name, dir, `{"path":"/a","after":"x","limit":500}`},
		{"/jobs/job-2/log?stage=3&task=map&index=7&try=9", api.JobLog.Name, nil, `{"id":{"job":"job-2","stage":3,"kind":"map","index":7,"try":9},"tail":65536}`},
		{"/jobs/job-2/log?stage=x&task=map&index=7&try=9", api.JobLog.Name, nil, "nobody asked"},
		{"/jobs/job-2/log?stage=3&task=map&index=7&try=-9", api.JobLog.Name, nil, "nobody asked"},
		{"/jobs/job-2", api.JobWhy.Name, answers{api.JobStatus.Name: wire.JobStatus{Ended: 5}}, "nobody asked"}, // there is no more to get
	} {
		if got := asked(t, c.says, c.path, c.method); got != c.want {
			t.Errorf("%s asks %s for %s, want %s", c.path, c.method, got, c.want)
		}
	}
}

// TestEventsByPage: a job's events come page by page, and a chart that would be too full says so.
func TestEventsByPage(t *testing.T) {
	event := func(try uint64) wire.PastEvent {
		return wire.PastEvent{At: 1e9 + int64(try)*1e6, Kind: wire.PastDone, Millis: 1, Task: wire.MapTask, Index: int32(try), Try: try, Node: "w1"}
	}
	for _, pages := range []int{1, 3, 6000} {
		calls := 0
		page := look(web.Config{Call: func(ctx context.Context, m string, req, resp any) error {
			if m != api.HistoryEvents.Name {
				return ran.call(ctx, m, req, resp)
			}
			if want := fmt.Sprint(calls); calls > 0 && string(req.(wire.PastEventsRequest).From) != want {
				t.Errorf("call %d asks from %q", calls, req.(wire.PastEventsRequest).From)
			}
			calls++
			e := wire.PastEvents{Events: []wire.PastEvent{event(uint64(calls))}}
			if calls < pages {
				e.Next = fmt.Append(nil, calls)
			}
			return answers{m: e}.call(ctx, m, req, resp)
		}}, "/jobs/job-1").Body.String()
		full := strings.Contains(page, "too many to draw")
		if want := min(pages, 5000); calls != want || full != (pages > 5000) || pages < 10 && !strings.Contains(page, fmt.Sprintf("map %d on", pages)) {
			t.Errorf("%d pages: %d calls, full %v", pages, calls, full)
		}
	}
}

// TestManyReports: the list of reports ends somewhere.
func TestManyReports(t *testing.T) {
	dir := fstest.MapFS{}
	for i := range 1001 {
		dir[fmt.Sprintf("r%04d.html", i)] = &fstest.MapFile{}
	}
	page := look(web.Config{Call: answers{}.call, Reports: dir}, "/reports").Body.String()
	if n := strings.Count(page, "<li>"); n != 1000 || !strings.Contains(page, "r0999.html") {
		t.Errorf("%d reports", n)
	}
}

// TestCodes: an error's kind is the answer's code, so that a browser and a probe can tell them apart.
func TestCodes(t *testing.T) {
	for kind, want := range map[wire.Kind]int{wire.NotFound: 404, wire.Denied: 403, wire.Invalid: 400, wire.Unavailable: 503, wire.Internal: 500, wire.Corrupt: 500} {
		rec := look(web.Config{Call: answers{api.NodeList.Name: wire.Errorf(kind, "no")}.call}, "/nodes")
		if rec.Code != want || rec.Header().Get("Content-Security-Policy") == "" || rec.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%v: %d, want %d; %v", kind, rec.Code, want, rec.Header())
		}
	}
}
