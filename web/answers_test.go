package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/web"
)

// answers are what the calls of an API say, by method; an error is refused with. What is not there answers with nothing.
type answers map[string]any

func (a answers) call(_ context.Context, method string, _, resp any) error {
	switch v := a[method].(type) {
	case nil:
		return nil
	case error:
		return v
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return json.Unmarshal(b, resp)
	}
}

// look is the code and the text of a page of a cluster that answers so.
func look(cfg web.Config, path string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	web.New(cfg).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
	return rec
}

func containers(name, rack, state string, room int32, running int) wire.NodeStatus {
	return wire.NodeStatus{Node: wire.NodeName(name), Rack: rack, State: state, Capacity: wire.Capacity{Containers: room}, Running: running}
}

// TestProblemsAreShown: the first page names what somebody should look at, and nothing that is well; what cannot be asked does not hide the rest.
func TestProblemsAreShown(t *testing.T) {
	many := make([]wire.NodeStatus, 23)
	for i := range many {
		many[i] = containers(fmt.Sprint("m", i), "r1", "down", 4, 0)
	}
	for name, c := range map[string]struct {
		says      answers
		want, not []string
	}{
		"well": {
			answers{api.NodeList.Name: []wire.NodeStatus{containers("w1", "r1", "up", 4, 3), containers("w2", "r1", "up", 4, 0)}},
			[]string{"2 of 2", "3 of 8"},
			[]string{"congested", "safe mode", "node w", "no worker"},
		},
		"nobody": {answers{}, []string{"no worker has joined yet: millrace worker --master"}, nil},
		"dead and sick": {
			answers{api.NodeList.Name: []wire.NodeStatus{containers("w1", "r1", "down", 4, 0), {Node: "w2", State: "sick", Sick: "its disk is full", Capacity: wire.Capacity{Containers: 2}}}},
			[]string{"node w1 is down", "node w2 is sick its disk is full", "0 of 2"},
			nil,
		},
		"many": {answers{api.NodeList.Name: many}, []string{"node m0 is down", "and 3 nodes more"}, []string{"node m22 is down"}},
		"store and network": {
			answers{
				api.DFSSafemode.Name: wire.SafeMode{On: true, Why: "two blocks are missing"},
				api.NetStatus.Name:   wire.NetStatus{Racks: []wire.NetRack{{Rack: "r1"}, {Rack: "r2", Congested: true}}},
				api.DFSNodes.Name:    []wire.StoreNode{{Place: wire.Place{Node: "w3"}, Volumes: []wire.Volume{{ID: "v1"}, {ID: "v2", Failed: "input/output error"}}}},
				api.DFSUsage.Name:    errors.New("nobody counts"),
			},
			[]string{"safe mode and takes no changes: two blocks are missing", "link of rack r2 is congested", "volume v2 of node w3 has failed: input/output error", "block store: nobody counts"},
			[]string{"rack r1 is congested", "volume v1"},
		},
		"nothing of it is asked": {
			answers{api.DFSSafemode.Name: errors.New("x"), api.NetStatus.Name: errors.New("x"), api.DFSNodes.Name: errors.New("x")},
			[]string{"no worker has joined"},
			[]string{"safe mode and takes"},
		},
	} {
		rec := look(web.Config{Call: c.says.call}, "/")
		if rec.Code != http.StatusOK {
			t.Errorf("%s: %d", name, rec.Code)
		}
		for _, want := range c.want {
			if !strings.Contains(rec.Body.String(), want) {
				t.Errorf("%s: %q is not shown:\n%s", name, want, rec.Body)
			}
		}
		for _, not := range c.not {
			if strings.Contains(rec.Body.String(), not) {
				t.Errorf("%s: %q is shown", name, not)
			}
		}
	}
}

// TestRefusedCalls: every page that cannot ask what it is about says why, with the code of the error's kind.
func TestRefusedCalls(t *testing.T) {
	job := wire.JobStatus{Job: "job-1", State: "RUNNING"}
	for _, c := range []struct {
		path, method string
		code         int
	}{
		{"/", api.NodeList.Name, 503},
		{"/", api.ClusterLoad.Name, 503},
		{"/", api.JobList.Name, 503},
		{"/", api.QueueList.Name, 503},
		{"/", api.SchedulerGet.Name, 503},
		{"/jobs", api.ClusterLoad.Name, 503},
		{"/jobs", api.JobList.Name, 503},
		{"/jobs", api.HistoryList.Name, 200},
		{"/jobs/job-1", api.JobStatus.Name, 503},
		{"/jobs/job-1", api.ClusterLoad.Name, 503},
		{"/jobs/job-1", api.HistoryJob.Name, 200},
		{"/jobs/job-1/log?stage=0&task=map&index=0&try=1", api.JobLog.Name, 503},
		{"/nodes", api.NodeList.Name, 503},
		{"/nodes", api.DFSNodes.Name, 200},
		{"/nodes", api.NetStatus.Name, 200},
		{"/queues", api.QueueList.Name, 503},
		{"/queues", api.ClusterLoad.Name, 503},
		{"/queues", api.SchedulerPlan.Name, 503},
		{"/network", api.NetStatus.Name, 503},
		{"/files/a", api.DFSStat.Name, 503},
		{"/files/a", api.DFSLocate.Name, 200},
	} {
		a := answers{api.JobStatus.Name: job, c.method: wire.Errorf(wire.Unavailable, "gone for lunch")}
		if rec := look(web.Config{Call: a.call}, c.path); rec.Code != c.code || !strings.Contains(rec.Body.String(), "gone for lunch") {
			t.Errorf("%s without %s: %d %s", c.path, c.method, rec.Code, rec.Body)
		}
		a[c.method] = wire.Errorf(wire.Denied, "not yours")
		want := c.code
		if want != 200 || c.method == api.DFSLocate.Name {
			want = http.StatusForbidden
		}
		if rec := look(web.Config{Call: a.call}, c.path); rec.Code != want {
			t.Errorf("%s, denied %s: %d, want %d", c.path, c.method, rec.Code, want)
		}
	}
}

// TestGoalOfAJob: the page of a job says its goal, what it needs and what is forecast with units, and after the end what became of the goal.
func TestGoalOfAJob(t *testing.T) {
	load := wire.Load{Now: 80_000}
	for _, c := range []struct {
		status wire.JobStatus
		want   []string
	}{
		{wire.JobStatus{
			State: wire.Running, Submitted: 60_000, Deadline: 90_000,
			Figures: []wire.Figure{{Name: "need-maps", Value: 11.98}, {Name: "need-reduces", Value: 0.002}, {Name: "forecast", Value: 91.577}, {Name: "late", Value: 1.577}, {Name: "odd", Value: 0.5}, {Name: "need-others", Value: 0.1}},
		}, []string{
			"<b>in 10.00s</b><span>goal: 30.00s after its submission<", "<b>12.0 containers</b><span>needed for maps from now on, to meet its goal<", "<b>under 0.1 containers</b><span>needed for reduces ",
			"<b>done in 11.58s</b><span>forecast, with the containers that it holds<", "<b>late by 1.58s</b><span>if so<", "<b>0.5</b><span>odd<",
			"<b>0.1 containers</b><span>needed for others ",
		}},
		{wire.JobStatus{State: wire.Running, Deadline: 75_000, Figures: []wire.Figure{{Name: "late", Value: -2}}}, []string{"<b>5.00s ago</b>", "<b>not late</b><span>2.00s before its goal, if so<"}},
		{wire.JobStatus{State: wire.Succeeded, Deadline: 90_000, Ended: 85_000}, []string{"<b>met, 5.00s before</b>"}},
		{wire.JobStatus{State: wire.Succeeded, Deadline: 90_000, Ended: 95_000}, []string{"<b>missed by 5.00s</b>"}},
		{wire.JobStatus{State: wire.Failed, Deadline: 90_000, Ended: 85_000}, []string{"<b>missed</b>"}},
	} {
		c.status.Job = "job-1"
		page := look(web.Config{Call: answers{api.JobStatus.Name: c.status, api.ClusterLoad.Name: load}.call}, "/jobs/job-1").Body.String()
		for _, want := range c.want {
			if !strings.Contains(page, want) {
				t.Errorf("%q is not shown:\n%s", want, page)
			}
		}
	}
}

// TestHeadersOfAnswers: no page and no part of one is kept without asking, guessed at or told to others; what is not there is not found.
func TestHeadersOfAnswers(t *testing.T) {
	for path, want := range map[string]struct {
		code int
		kind string
		text string
	}{
		"/jobs": {200, "text/html; charset=utf-8", "Jobs"}, "/assets/style.css": {200, "text/css; charset=utf-8", ".chart"}, "/assets/live.js": {200, "text/javascript; charset=utf-8", ""},
		"/assets/icon.svg": {200, "image/svg+xml", "<svg"}, "/none": {404, "text/html; charset=utf-8", "there is no page /none here"},
	} {
		rec := look(web.Config{Call: answers{}.call}, path)
		h := rec.Header()
		if rec.Code != want.code || h.Get("Content-Type") != want.kind || !strings.Contains(rec.Body.String(), want.text) {
			t.Errorf("%s: %d %v", path, rec.Code, h)
		}
		if h.Get("Cache-Control") != "no-cache" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("ETag") == "" {
			t.Errorf("%s: %v", path, h)
		}
		if css := strings.Contains(rec.Body.String(), chart.Style); css != (path == "/assets/style.css") {
			t.Errorf("%s has the style of charts: %v", path, css)
		}
	}
	for _, path := range []string{"/assets/none", "/assets/..%2fpages%2fframe.html"} {
		if rec := look(web.Config{Call: answers{}.call}, path); rec.Code != 404 {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
}

// TestAgesOfJobs: a list says how old a job is, in seconds, and in tens of them from a minute on, so that a page does not change with every look.
func TestAgesOfJobs(t *testing.T) {
	for millis, want := range map[int64]string{0: "0s", -5: "0s", 1999: "1s", 59_999: "59s", 60_000: "1m0s", 69_999: "1m0s", 70_000: "1m10s", 3_600_000: "1h0m0s"} {
		a := answers{api.ClusterLoad.Name: wire.Load{Now: 10_000 + millis}, api.JobList.Name: []wire.JobStatus{{Job: "job-1", State: wire.Running, Submitted: 10_000}}}
		for _, path := range []string{"/jobs", "/"} {
			if page := look(web.Config{Call: a.call}, path).Body.String(); !strings.Contains(page, ">"+want+"<") {
				t.Errorf("%s: %d ms are not %s:\n%s", path, millis, want, page)
			}
		}
	}
}

// TestUnknownUse: a directory of which nobody can say how large it is is no page.
func TestUnknownUse(t *testing.T) {
	a := answers{api.DFSStat.Name: wire.FileInfo{Path: "/a", Dir: true}, api.DFSUsage.Name: wire.Errorf(wire.Unavailable, "gone for lunch")}
	if rec := look(web.Config{Call: a.call}, "/files/a"); rec.Code != 503 || !strings.Contains(rec.Body.String(), "gone for lunch") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestQueuesOnANarrowScreen: each cell of the table of queues has its name with it, for where there is no room for columns.
func TestQueuesOnANarrowScreen(t *testing.T) {
	page := look(web.Config{Call: answers{api.QueueList.Name: []wire.QueueStatus{{Queue: "day"}}}.call}, "/queues").Body.String()
	_, table, found := strings.Cut(page, `<table class="cards">`)
	if !found {
		t.Fatal(page)
	}
	table, _, _ = strings.Cut(table, "</table>")
	for _, cell := range strings.Split(table, "<th")[2:] { // the first is of thead
		_, name, _ := strings.Cut(cell, ">")
		name, _, _ = strings.Cut(name, "<")
		if !strings.Contains(table, `data-name="`+name+`"`) {
			t.Errorf("no cell is called %q:\n%s", name, table)
		}
	}
	if strings.Count(table, "<th") != 10 || strings.Count(table, "<td") != strings.Count(table, "data-name=") {
		t.Error(table)
	}
	style := look(web.Config{Call: answers{}.call}, "/assets/style.css").Body.String()
	if !strings.Contains(style, "content: attr(data-name)") {
		t.Error("the names of cells are not shown")
	}
}

// TestPlayer: without a player the page names the command; with one it is the player's, one replay at a time, and whoever waits too long is told.
func TestPlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := answers{}.call
		if rec := look(web.Config{Call: none}, "/play"); rec.Code != 200 || !strings.Contains(rec.Body.String(), "millrace dashboard") {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		if rec := look(web.Config{Call: none, Player: func(context.Context) ([]byte, error) { return nil, wire.Errorf(wire.NotFound, "no decisions") }}, "/play"); rec.Code != 404 {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		now := 0 // replays at once; one goroutine at a time may touch it, which is what is tried
		h := web.New(web.Config{Call: none, Player: func(context.Context) ([]byte, error) {
			if now++; now > 1 {
				t.Error("two replays at once")
			}
			time.Sleep(45 * time.Second)
			now--
			return []byte("<p>played</p>"), nil
		}})
		codes := make(chan int, 3)
		for range 3 {
			go func() {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/play", nil))
				if rec.Code == 200 && (rec.Body.String() != "<p>played</p>" || !strings.Contains(rec.Header().Get("Content-Security-Policy"), "script-src 'unsafe-inline'")) {
					t.Errorf("%s %v", rec.Body, rec.Header())
				}
				codes <- rec.Code
			}()
		}
		sum := <-codes + <-codes + <-codes
		if sum != 200+200+503 { // the third would have waited 90 s
			t.Errorf("codes add up to %d", sum)
		}
	})
}

// TestReports: reports are listed and served, locked up in themselves; other files are not listed.
func TestReports(t *testing.T) {
	cfg := web.Config{Call: answers{}.call, Reports: fstest.MapFS{
		"nas/index.html": {Data: []byte("<h1>nas</h1>")}, "nas/data.json": {Data: []byte("{}")}, ".html": {Data: []byte("x")},
	}}
	list := look(cfg, "/reports").Body.String()
	if !strings.Contains(list, "/reports/nas/index.html") || strings.Contains(list, "data.json") || strings.Contains(list, `"/reports/.html"`) {
		t.Error(list)
	}
	rec := look(cfg, "/reports/nas/")
	if rec.Code != 200 || rec.Body.String() != "<h1>nas</h1>" || !strings.Contains(rec.Header().Get("Content-Security-Policy"), "sandbox") || rec.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %s %v", rec.Code, rec.Body, rec.Header())
	}
	if rec := look(web.Config{Call: answers{}.call}, "/reports"); rec.Code != 200 || !strings.Contains(rec.Body.String(), "millrace lab run") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
