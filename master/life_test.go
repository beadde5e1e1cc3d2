package master

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/history"
	"github.com/millrace/millrace/master/tracker"
)

// TestStartIsRefused: a configuration that cannot work is refused by what is wrong in it, and leaves nothing that runs.
func TestStartIsRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for words, change := range map[string]func(c *Config){
		"local paths":                 func(c *Config) { c.LocalPaths = "some" },
		"0.0.0.0":                     func(c *Config) { c.Listen = "0.0.0.0:0" },
		"192.0.2.9":                   func(c *Config) { c.Gossip = "192.0.2.9:0" },
		"fair":                        func(c *Config) { c.Policy = "fiar" },
		"marp":                        func(c *Config) { c.Admission = "mrap" },
		"rack-aware":                  func(c *Config) { c.Placement = "rack-awar" },
		"colour":                      func(c *Config) { c.PolicyParams = map[string]string{"colour": "red"} },
		"no such file":                func(c *Config) { c.Groups = filepath.Join(t.TempDir(), "groups") },
		"address already in use":      func(c *Config) { c.Listen = taken.Addr().String() },
		"second attempts by \"luck\"": func(c *Config) { c.Jobs.SecondAttempts.By = "luck" },
	} {
		cfg := DefaultConfig()
		cfg.Dir, cfg.Listen = t.TempDir(), "127.0.0.1:0"
		change(&cfg)
		m, err := Start(cfg)
		if err == nil {
			t.Errorf("%s: it serves at %s", words, m.Addr())
			_ = m.Close() // the test has failed
			continue
		}
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
	m := served(t)
	cfg := m.cfg
	if second, err := Start(cfg); err == nil || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("a second master on the same disk: %v, %v", second, err)
	}
}

// TestDirectoryLost: a master whose directory is removed stops by itself, says so, and answers nobody as if nothing were.
func TestDirectoryLost(t *testing.T) {
	m := served(t)
	submitted(t, m, ann, sleepJob("j"))
	if err := os.Rename(filepath.Join(m.cfg.Dir, "jobs"), filepath.Join(m.cfg.Dir, "gone")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-m.Failed():
		if !strings.Contains(err.Error(), "jobs") {
			t.Errorf("it stopped because of %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a master without its directory goes on")
	}
	stopped(m)
	_, err := call(t, m, ann, api.JobSubmit, sleepJob("k"))
	refusal(t, "a job for a master that stops", err, wire.Unavailable, "stopping")
}

// TestJournalFails: what cannot be written down is not acknowledged, and the master stops with the reason.
func TestJournalFails(t *testing.T) {
	m := served(t)
	kept := submitted(t, m, ann, sleepJob("kept"))
	if err := m.log.journal.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, m, ann, api.JobSubmit, sleepJob("lost")); err == nil {
		t.Error("a job is taken that the journal has no room for")
	}
	if _, err := call(t, m, ann, api.JobKill, wire.JobRequest{Job: kept}); err == nil {
		t.Error("an end is acknowledged that the journal does not have")
	}
	select {
	case <-m.Failed():
	case <-time.After(time.Minute):
		t.Fatal("a master without a journal goes on")
	}
	m = again(t, m)
	if list := must(t, m, ann, api.JobList, wire.JobsRequest{}); len(list) != 1 || list[0].Job != kept || list[0].State != wire.Queued {
		t.Errorf("the next master has %+v", list)
	}
}

// TestCompaction: a master that serves writes a snapshot when its journal has grown, also one of a job with a record that is too large, and
// the next master has every job that waits.
func TestCompaction(t *testing.T) {
	const from = 32 << 10
	m := served(t, func(c *Config) { c.CompactFrom, c.Jobs.KeepEnded = from, 5 })
	for i := range 200 {
		id := submitted(t, m, ann, sleepJob(strings.Repeat("n", 200)))
		if i%10 != 0 {
			must(t, m, ann, api.JobKill, wire.JobRequest{Job: id})
		}
	}
	eventually(t, "there is a snapshot, and the journal behind it is short", func() bool {
		ok, err := ask(t.Context(), m, func(time.Duration) (bool, error) {
			return m.log.snapshot > 0 && !m.log.busy && m.log.since < max(m.log.snapshot, from)+from, nil
		})
		return ok && err == nil
	})
	m = again(t, m)
	if list := must(t, m, ann, api.JobList, wire.JobsRequest{Active: true}); len(list) != 20 {
		t.Errorf("%d jobs wait, want 20", len(list))
	}
	if list := must(t, m, ann, api.JobList, wire.JobsRequest{Limit: 3}); len(list) != 3 || list[0].Job != "job-200" {
		t.Errorf("the newest three are %+v", list)
	}
}

// TestRecordTooLarge: what no limit has kept out is written without what others have said: it does not end the master.
func TestRecordTooLarge(t *testing.T) {
	dir := t.TempDir()
	m := openReal(t, dir)
	id, err := m.jobs.Submit(0, withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.User = "ann" }))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", journalRecord)
	counts := wire.Counts{"g": {long: 1}}
	done := &tracker.TaskRecord{Kind: wire.MapTask, Counts: counts, Bad: []wire.BadRecord{{File: long}}, Node: "w1"}
	records := append(m.jobs.Take().Records,
		tracker.Record{Kind: tracker.TaskLost, Job: id, Task: done, Text: long, Counts: counts},
		tracker.Record{Kind: tracker.JobEnded, Job: id, State: tracker.Failed, Text: long})
	if err := m.keep(records); err != nil {
		t.Fatal(err)
	}
	if done.Counts == nil {
		t.Error("what is written changes the record")
	}
	m.onDisk(t)
	closeReal(t, m)
	m = openReal(t, dir)
	defer closeReal(t, m)
	s, err := m.jobs.Status(id)
	if err != nil || s.State != wire.Failed || len(s.Error) > wire.MaxReason || !strings.HasPrefix(s.Error, "xxx") {
		t.Errorf("%s with an error of %d bytes, %v", s.State, len(s.Error), err)
	}
}

// TestForgottenJobs: a job that the master has forgotten is described from the history, also to who waits for it; one that nobody
// knows is not there.
func TestForgottenJobs(t *testing.T) {
	m := served(t, func(c *Config) { c.Jobs.KeepEnded = 1 })
	h := newHand(t, m, "w1")
	good, bad := submitted(t, m, ann, sleepJob("good")), submitted(t, m, bob, sleepJob("bad"))
	h.succeed(good)
	h.breakDown(bad, "no more")
	for range 3 {
		must(t, m, ann, api.JobKill, wire.JobRequest{Job: submitted(t, m, ann, sleepJob("j"))})
	}
	for _, id := range []wire.JobID{good, bad} {
		inHistory(t, m, id)
		if _, err := ask(t.Context(), m, func(time.Duration) (wire.JobStatus, error) { return m.jobs.Status(id) }); wire.KindOf(err) != wire.NotFound {
			t.Fatalf("the master has not forgotten %s: %v", id, err)
		}
	}
	for _, wait := range []int{0, 60_000} {
		s := must(t, m, bob, api.JobStatus, wire.JobRequest{Job: good, Wait: wait})
		if s.State != wire.Succeeded || s.Name != "good" || s.User != "ann" || s.Maps.Done != 2 || s.Reduces.Total != 1 || s.Ended < s.Submitted {
			t.Errorf("%+v", s)
		}
		s = must(t, m, bob, api.JobStatus, wire.JobRequest{Job: bad, Wait: wait})
		if s.State != wire.Failed || !strings.Contains(s.Error, "no more") || s.Maps.Done != 0 || s.Maps.Total != 1 {
			t.Errorf("%+v", s)
		}
		_, err := call(t, m, bob, api.JobStatus, wire.JobRequest{Job: "job-999", Wait: wait})
		refusal(t, "a job that nobody knows", err, wire.NotFound, "job-999")
	}
	inHistory(t, m, "job-5")
	page := must(t, m, ann, api.HistoryList, wire.PastQuery{Limit: 2})
	next := must(t, m, ann, api.HistoryList, wire.PastQuery{Limit: 2, Before: page.Jobs[1].Job})
	if !page.More || page.Jobs[0].Job != "job-5" || len(next.Jobs) != 2 || next.Jobs[0].Job != "job-3" {
		t.Errorf("%+v, then %+v", page, next)
	}
	must(t, m, ann, api.JobWhy, wire.JobRequest{Job: "job-5"})
	_, err := call(t, m, ann, api.JobWhy, wire.JobRequest{Job: good})
	refusal(t, "why of a job that has gone", err, wire.NotFound)
}

// TestWithoutAHistory: a master whose history cannot be opened takes jobs all the same, and says what is wrong to those who ask for it.
func TestWithoutAHistory(t *testing.T) {
	m := served(t, func(c *Config) { c.History = func(h *history.Config) { h.Queue = -1 } })
	id := submitted(t, m, ann, sleepJob("j"))
	newHand(t, m, "w1").succeed(id)
	if s := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: id}); s.State != wire.Succeeded {
		t.Errorf("%+v", s)
	}
	_, err := call(t, m, ann, api.JobStatus, wire.JobRequest{Job: "job-99"})
	refusal(t, "a job that is not there", err, wire.NotFound, "job-99")
	for what, do := range map[string]func() error{
		"history.list": func() error { _, err := call(t, m, ann, api.HistoryList, wire.PastQuery{}); return err },
		"history.job":  func() error { _, err := call(t, m, ann, api.HistoryJob, wire.JobRequest{Job: id}); return err },
		"history.events": func() error {
			_, err := call(t, m, ann, api.HistoryEvents, wire.PastEventsRequest{Job: id})
			return err
		},
		"job.attempts": func() error { _, err := call(t, m, ann, api.JobAttempts, wire.AttemptsRequest{Job: id}); return err },
		"job.log": func() error {
			_, err := call(t, m, ann, api.JobLog, wire.LogRequest{ID: wire.AttemptID{Job: id}})
			return err
		},
	} {
		refusal(t, what, do(), wire.Internal, "there is no history")
	}
	if list := must(t, m, ann, api.UserList, struct{}{}); len(list) == 0 {
		t.Error("nobody is a user")
	}
}

// TestLeftoversAreRemoved: what a job that ends has left in the block store goes, in the name of its user; if the store takes no changes yet, later.
func TestLeftoversAreRemoved(t *testing.T) {
	m := served(t)
	home(t, m, "ann")
	exists := func(path string) bool {
		_, err := m.names.Stat(wire.PathRequest{Path: path})
		return err == nil
	}
	safe := func(set string) {
		t.Helper()
		if _, err := m.names.SafeMode(wire.SafeModeRequest{Set: set}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, m, "ann", "/ann/.work/part-0", 0o644)
	put(t, m, "ann", "/ann/.late/part-0", 0o644)
	m.clean(tracker.Leftover{Dir: "/ann/.work", User: "bob"})
	m.clean(tracker.Leftover{Dir: "/ann/.none", User: "ann"})
	time.Sleep(20 * time.Millisecond)
	if !exists("/ann/.work") {
		t.Error("it is removed in the name of another")
	}
	m.clean(tracker.Leftover{Dir: "/ann/.work", User: "ann"})
	eventually(t, "it is removed", func() bool { return !exists("/ann/.work") })
	safe("enter")
	m.clean(tracker.Leftover{Dir: "/ann/.late", User: "ann"})
	time.Sleep(20 * time.Millisecond)
	if !exists("/ann/.late") {
		t.Error("it is removed in safe mode")
	}
	safe("leave")
	eventually(t, "it is removed later", func() bool { return !exists("/ann/.late") })
}

// TestHealthAndMetrics: that a master is well is told to anybody, numbers where there is a key to known users only. A master that stops
// is not well.
func TestHealthAndMetrics(t *testing.T) {
	m := served(t, withKey(t), func(c *Config) { c.Jobs.Links.Uplink, c.Jobs.Monitor.Interval = 1e9, 100*time.Millisecond })
	h := newHand(t, m, "w1")
	h.report.Net, h.report.Fresh = []wire.NetBytes{{Peer: "w2", What: "shuffle", Sent: 1000}}, true
	other := newHand(t, m, "w2")
	other.report.Rack = "r2"
	other.say()
	h.say()
	eventually(t, "the link has been looked at", func() bool {
		s := must(t, m, ann, api.NetStatus, struct{}{})
		return slices.ContainsFunc(s.Racks, func(r wire.NetRack) bool { return r.Rack == "r1" && r.UpBytes == 1000 })
	})
	submitted(t, m, ann, withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.Queue = "night" }))
	web := func(role secure.Role, name string) *http.Client {
		cc, err := m.cfg.Key.Client(role, name, "")
		if err != nil {
			t.Fatal(err)
		}
		return &http.Client{Transport: &http.Transport{TLSClientConfig: cc.TLS, DisableKeepAlives: true}}
	}
	url := "https://" + m.Addr()
	if code, text := get(t, web(secure.User, "ann"), url+"/healthz"); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	code, text := get(t, web(secure.User, "ann"), url+"/metrics")
	for _, line := range []string{
		`millrace_policy_info{admission="unlimited",policy="fifo"} 1`, `millrace_queue_jobs{queue="night",state="waiting"} 1`,
		`millrace_node_state{node="w1",rack="r1",state="up"} 1`, `millrace_node_containers{node="w1",rack="r1"} 4`, "millrace_store_files 0",
		`millrace_node_sent_bytes_total{node="w1",rack="r1",what="shuffle"} 1000`, `millrace_link_bytes_total{direction="up",rack="r1"} 1000`,
		`millrace_link_utilisation{direction="up",rack="r1"}`, `millrace_policy_decisions_total{what="launch"}`,
	} {
		if code != http.StatusOK || !strings.Contains(text, line) {
			t.Errorf("%d, %s is not in the metrics", code, line)
		}
	}
	if code, _ := get(t, web(secure.Task, "job-1"), url+"/metrics"); code == http.StatusOK {
		t.Error("a task reads the metrics")
	}
	if must(t, m, rpc.Caller{}, api.Health, struct{}{}).Text == "" {
		t.Error("the master says nothing of its health")
	}
	m.fail(errors.New("enough"))
	stopped(m)
	_, err := call(t, m, rpc.Caller{}, api.Health, struct{}{})
	refusal(t, "the health of a master that stops", err, wire.Unavailable)
}

// TestRenewal: a cluster without a key renews no certificates; one with a key renews those of its callers.
func TestRenewal(t *testing.T) {
	ask, err := secure.NewRenewal()
	if err != nil {
		t.Fatal(err)
	}
	_, err = call(t, served(t), ann, api.CertRenew, ask.Request())
	refusal(t, "without a key", err, wire.Invalid, "no key")
	m := served(t, withKey(t))
	c := ann
	c.Issued = time.Now().Unix()
	got := must(t, m, c, api.CertRenew, ask.Request())
	if text, err := ask.PEM(&got); err != nil || secure.UserOf(text) != "ann" {
		t.Errorf("the certificate is for %q, %v", secure.UserOf(text), err)
	}
	if len(m.Routes()) < 40 {
		t.Errorf("%d routes", len(m.Routes()))
	}
}

// TestDrainedByAdmins: a node gets no more work when an administrator says so, until that is taken back.
func TestDrainedByAdmins(t *testing.T) {
	m := served(t, withKey(t))
	newHand(t, m, "w1").say()
	_, err := call(t, m, ann, api.NodeDrain, wire.DrainRequest{Node: "w1"})
	refusal(t, "a user who drains", err, wire.Denied)
	_, err = call(t, m, admin, api.NodeDrain, wire.DrainRequest{Node: "w9"})
	refusal(t, "a node that is not there", err, wire.NotFound, "w9")
	must(t, m, admin, api.NodeDrain, wire.DrainRequest{Node: "w1"})
	if s := stateOf(t, m, "w1"); s != "draining" {
		t.Errorf("drained: %s", s)
	}
	must(t, m, admin, api.NodeDrain, wire.DrainRequest{Node: "w1", Undo: true})
	if s := stateOf(t, m, "w1"); s != "up" {
		t.Errorf("taken back: %s", s)
	}
}
