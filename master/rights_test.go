package master

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// TestWhoMayKill: a job is ended by its owner, by those who look after its queue, by administrators and by nodes, and by nobody else.
func TestWhoMayKill(t *testing.T) {
	m := served(t, withKey(t), func(c *Config) {
		c.Queues = map[string]Queue{"default": {Submit: []string{"*"}, Admin: []string{"dan"}}, "night": {Submit: []string{"*"}, Admin: []string{"*"}}}
	})
	for i, x := range []struct {
		c     rpc.Caller
		queue string
		may   bool
	}{
		{ann, "", true},
		{admin, "", true},
		{rpc.Caller{User: "dan"}, "", true},
		{rpc.Caller{User: "dan"}, "default", true},
		{rpc.Caller{Node: "w1"}, "", true},
		{bob, "night", true},
		{bob, "", false},
		{bob, "default", false},
		{rpc.Caller{User: "ann", Job: "job-1"}, "", false}, // a task, which may not even ask
	} {
		id := submitted(t, m, ann, withSpec(sleepJob(fmt.Sprint("j", i)), func(s *wire.JobSpec) { s.Queue = x.queue }))
		_, err := call(t, m, x.c, api.JobKill, wire.JobRequest{Job: id})
		s := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: id})
		if x.may && (err != nil || s.State != wire.Cancelled || s.Error != "killed by "+x.c.User) {
			t.Errorf("%+v ends a job of queue %q: %v, %s %q", x.c, x.queue, err, s.State, s.Error)
		}
		if !x.may && (wire.KindOf(err) != wire.Denied || s.State != wire.Queued) {
			t.Errorf("%+v ends a job of queue %q: %v, %s", x.c, x.queue, err, s.State)
		}
	}
	id := submitted(t, m, ann, sleepJob("j"))
	must(t, m, ann, api.JobKill, wire.JobRequest{Job: id, Why: "it is Friday"})
	must(t, m, ann, api.JobKill, wire.JobRequest{Job: id, Why: "it is Saturday"})
	if s := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: id}); s.Error != "it is Friday" {
		t.Errorf("ended twice: %q", s.Error)
	}
	_, err := call(t, m, admin, api.JobKill, wire.JobRequest{Job: "job-99"})
	refusal(t, "a job that is not there", err, wire.NotFound, "job-99")
}

// TestQueuesAreShown: those that are configured and those that have jobs, each once, with who may use it.
func TestQueuesAreShown(t *testing.T) {
	m := served(t, withKey(t), func(c *Config) {
		c.Queues = map[string]Queue{"night": {Submit: []string{"bob"}}, "day": {Submit: []string{"*"}, Admin: []string{"dan"}}}
	})
	submitted(t, m, bob, withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.Queue = "night" }))
	submitted(t, m, admin, withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.Queue = "mine" })) // an administrator is bound by no list
	var got []string
	for _, q := range must(t, m, ann, api.QueueList, struct{}{}) {
		got = append(got, fmt.Sprint(q.Queue, q.Submit, q.Admin, q.Waiting))
	}
	if want := "day[*] [dan] 0 default[] [] 0 mine[] [] 1 night[bob] [] 1"; strings.Join(got, " ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, " "), want)
	}
	open := served(t)
	submitted(t, open, bob, withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.Queue = "any" }))
	if q := must(t, open, ann, api.QueueList, struct{}{}); len(q) != 2 || q[0].Queue != "any" || len(q[0].Submit) != 1 || q[0].Submit[0] != "*" {
		t.Errorf("without lists: %+v", q)
	}
}

// secret is what a program says that broke down.
const secret = "salary of ann: 17"

// told is all that the calls about a job tell a caller, by call.
func told(t *testing.T, m *Master, c rpc.Caller, id wire.JobID) map[string]string {
	t.Helper()
	all := map[string]string{
		"status":  fmt.Sprint(must(t, m, c, api.JobStatus, wire.JobRequest{Job: id})),
		"list":    fmt.Sprint(must(t, m, c, api.JobList, wire.JobsRequest{})),
		"history": fmt.Sprint(must(t, m, c, api.HistoryList, wire.PastQuery{})),
		"events":  fmt.Sprint(must(t, m, c, api.HistoryEvents, wire.PastEventsRequest{Job: id})),
	}
	s := must(t, m, c, api.HistoryJob, wire.JobRequest{Job: id})
	all["summary"] = fmt.Sprintf("%+v", *s)
	return all
}

// inHistory waits until a job's end is in the history.
func inHistory(t *testing.T, m *Master, id wire.JobID) {
	t.Helper()
	eventually(t, "the end of a job is in the history", func() bool {
		s, err := call(t, m, admin, api.HistoryJob, wire.JobRequest{Job: id})
		return err == nil && s.Over()
	})
}

// TestErrorsAreTheOwners: what a program said when it broke down is told to its owner, to administrators and to nodes. Others of a
// cluster with a key see that there is something; without a key there are no others.
func TestErrorsAreTheOwners(t *testing.T) {
	m := served(t, withKey(t))
	id := submitted(t, m, ann, sleepJob("pay"))
	newHand(t, m, "w1").breakDown(id, secret)
	inHistory(t, m, id)
	for what, c := range map[string]rpc.Caller{"the owner": ann, "an administrator": admin, "a node": {Node: "w1"}} {
		for where, text := range told(t, m, c, id) {
			if !strings.Contains(text, secret) {
				t.Errorf("%s does not see it in %s: %s", what, where, text)
			}
		}
	}
	for where, text := range told(t, m, bob, id) {
		if strings.Contains(text, secret) || !strings.Contains(text, "(for ann only)") {
			t.Errorf("another sees in %s: %s", where, text)
		}
	}
	for _, c := range []rpc.Caller{ann, admin} {
		if list := must(t, m, c, api.JobAttempts, wire.AttemptsRequest{Job: id}); len(list) == 0 || !strings.Contains(fmt.Sprint(list), secret) {
			t.Errorf("%s hears of %+v", c.User, list)
		}
	}
	_, err := call(t, m, bob, api.JobAttempts, wire.AttemptsRequest{Job: id})
	refusal(t, "attempts of another's job", err, wire.Denied, "belongs to ann")
	_, err = call(t, m, bob, api.JobLog, wire.LogRequest{ID: wire.AttemptID{Job: id, Kind: wire.MapTask}})
	refusal(t, "the log of another's job", err, wire.Denied, "belongs to ann")
	_, err = call(t, m, bob, api.HistoryJob, wire.JobRequest{Job: "1"})
	refusal(t, "a job by its number", err, wire.Invalid, "job-1")

	open := served(t)
	id = submitted(t, open, ann, sleepJob("pay"))
	newHand(t, open, "w1").breakDown(id, secret)
	inHistory(t, open, id)
	for where, text := range told(t, open, bob, id) {
		if !strings.Contains(text, secret) {
			t.Errorf("without a key it is hidden in %s: %s", where, text)
		}
	}
}

// TestUsersAndLimits: administrators set limits and see all; users see themselves and what holds for all. A wrong limit changes nothing.
func TestUsersAndLimits(t *testing.T) {
	m := served(t, withKey(t))
	home(t, m, "ann")
	put(t, m, "ann", "/ann/a", 0o644)
	set := func(c rpc.Caller, user string, changes map[string]int64) error {
		_, err := call(t, m, c, api.UserLimit, wire.LimitRequest{User: user, Changes: changes})
		return err
	}
	refusal(t, "a limit set by a user", set(ann, "ann", map[string]int64{"running": 9}), wire.Denied, "administrators")
	refusal(t, "a limit of nobody", set(admin, "", map[string]int64{"running": 9}), wire.Invalid)
	refusal(t, "a limit of nothing", set(admin, "ann", map[string]int64{"waiting": 3, "colour": 9}), wire.Invalid, "colour")
	for user, n := range map[string]int64{"bob": 1, wire.AllUsers: 7} {
		if err := set(admin, user, map[string]int64{"waiting": n, "history": 100 * n}); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(c rpc.Caller) map[string]wire.UserStatus {
		t.Helper()
		all := map[string]wire.UserStatus{}
		for _, s := range must(t, m, c, api.UserList, struct{}{}) {
			all[s.User] = s
		}
		return all
	}
	if all := seen(admin); all["ann"].Limits.Waiting != 7 || all["ann"].Usage.Files != 1 || all["bob"].Limits.Waiting != 1 || all["bob"].Usage.QuotaFiles != wire.NoLimit {
		t.Errorf("an administrator sees %+v", all)
	}
	if mine := seen(bob); len(mine) != 2 || mine["bob"].Limits.Waiting != 1 || mine[wire.AllUsers].Limits.Waiting != 7 {
		t.Errorf("bob sees %+v", mine)
	}
	for user, want := range map[string]int64{"bob": 100, "ann": 700, "root": 0} { // root is bound by limits of its own only
		if got := m.kept.of(user); got != want {
			t.Errorf("%s may have %d bytes of history, want %d", user, got, want)
		}
	}
	submitted(t, m, bob, sleepJob("a"))
	_, err := call(t, m, bob, api.JobSubmit, sleepJob("b"))
	refusal(t, "one job too many", err, wire.Quota)
	m = again(t, m)
	if all := seen(admin); all["bob"].Limits.Waiting != 1 || m.kept.of("ann") != 700 {
		t.Errorf("after a restart: %+v, and ann may have %d bytes of history", all["bob"], m.kept.of("ann"))
	}
}

// TestLocalRights: who may name paths of the workers' own disks.
func TestLocalRights(t *testing.T) {
	keyed := &Config{}
	withKey(t)(keyed)
	const far = "192.0.2.1:5" // no connection of this machine
	for _, x := range []struct {
		paths LocalPaths
		key   bool
		open  bool
		c     rpc.Caller
		want  wire.LocalRights
	}{
		{LocalPathsNone, false, false, admin, wire.LocalNone},
		{LocalPathsAuto, true, false, admin, wire.LocalNone},
		{LocalPathsAuto, false, false, rpc.Caller{User: "ann", Addr: far}, wire.LocalNone},
		{LocalPathsAuto, false, true, ann, wire.LocalNone},
		{LocalPathsOwn, true, false, ann, wire.LocalUser},
		{LocalPathsOwn, false, false, rpc.Caller{User: "ann", Addr: far}, wire.LocalNone},
		{LocalPathsAdmins, true, false, admin, wire.LocalWorker},
		{LocalPathsAdmins, true, false, ann, wire.LocalNone},
		{LocalPathsAdmins, false, false, admin, wire.LocalNone},
	} {
		m := &Master{cfg: Config{LocalPaths: x.paths, Insecure: x.open}}
		if x.key {
			m.cfg.Key = keyed.Key
		}
		if got := m.localRights(x.c, x.c.User); got != x.want {
			t.Errorf("%s, key %t, insecure %t, %+v: %q, want %q", x.paths, x.key, x.open, x.c, got, x.want)
		}
	}
}

// TestPagesAreForTheLooker: the dashboard calls in the name of who looks: of anybody where there is no key, and of the owner of the
// certificate where there is one. Without a certificate nothing is shown.
func TestPagesAreForTheLooker(t *testing.T) {
	dashboard := func(c *Config) {
		c.Dashboard = func(do func(ctx context.Context, method string, req, resp any) error) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var list []wire.UserStatus
				limit := do(r.Context(), api.UserLimit.Name, wire.LimitRequest{User: "ann", Changes: map[string]int64{"running": 5}}, &struct{}{})
				fmt.Fprintln(w, do(r.Context(), api.UserList.Name, struct{}{}, &list), limit, r.URL.Path)
			})
		}
	}
	m := served(t, dashboard)
	if code, text := get(t, http.DefaultClient, "http://"+m.Addr()+"/some/page"); code != http.StatusOK || !strings.Contains(text, "<nil> <nil> /some/page") {
		t.Errorf("%d %s", code, text)
	}
	m = served(t, withKey(t), dashboard)
	strangers := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if code, text := get(t, strangers, "https://"+m.Addr()+"/"); code != 0 {
		t.Errorf("without a certificate: %d %s", code, text)
	}
	for role, want := range map[secure.Role]string{secure.User: "<nil> user ann may not do this", secure.Admin: "<nil> <nil>"} {
		cc, err := m.cfg.Key.Client(role, "ann", "")
		if err != nil {
			t.Fatal(err)
		}
		code, text := get(t, &http.Client{Transport: &http.Transport{TLSClientConfig: cc.TLS}}, "https://"+m.Addr()+"/")
		if code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", role, code, text)
		}
	}
}

func get(t *testing.T, cl *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := cl.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}
