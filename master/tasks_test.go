package master

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// TestCertificatesOfTasks: the certificate of a task opens the master while its job runs, also the next master, and of a job that nobody runs never.
func TestCertificatesOfTasks(t *testing.T) {
	m := served(t, withKey(t))
	id := submitted(t, m, ann, sleepJob("j"))
	ask := func(user string, job wire.JobID) error {
		t.Helper()
		cc, err := m.cfg.Key.Client(secure.Task, string(job), user)
		if err != nil {
			t.Fatal(err)
		}
		cl := rpc.NewClient(cc)
		defer cl.Close()
		_, err = api.DriverStep.Call(t.Context(), cl, m.Addr(), wire.DriverRequest{ID: wire.AttemptID{Job: job, Kind: wire.DriverTask}})
		return err
	}
	check := func(when string) {
		t.Helper()
		if err := ask("ann", id); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		refusal(t, when+", a task of another user", ask("bob", id), wire.Denied, "does not run here")
		refusal(t, when+", a task of no job", ask("ann", "job-99"), wire.Denied, "does not run here")
	}
	check("while it runs")
	over := submitted(t, m, ann, sleepJob("k"))
	must(t, m, ann, api.JobKill, wire.JobRequest{Job: over})
	if err := ask("ann", over); err != nil {
		t.Errorf("just after its end: %v", err)
	}
	m = again(t, m)
	check("after a restart")
	refusal(t, "a job that ended before the restart", ask("ann", over), wire.Denied, "does not run here")
}

// TestWhatAJobSaysWhileItRuns: on a cluster with a key the error of an attempt that was tried again and the records that were skipped are the
// owner's, as those of a job that ended are.
func TestWhatAJobSaysWhileItRuns(t *testing.T) {
	m := served(t, withKey(t))
	id := submitted(t, m, ann, sleepJob("pay"))
	h := newHand(t, m, "w1")
	h.plan(id, 2, 0)
	maps := h.of(id, wire.MapTask, 2)
	h.say(wire.Ended{ID: maps[0], Error: secret, Millis: 5})
	h.say(wire.Ended{ID: maps[1], OK: true, Millis: 5, Skipped: 1, Bad: []wire.BadRecord{{File: "dfs:/pay", Offset: 7, Reason: secret}}})
	for c, sees := range map[rpc.Caller]bool{ann: true, admin: true, {Node: "w1"}: true, bob: false} {
		list := must(t, m, c, api.JobList, wire.JobsRequest{})
		for what, s := range map[string]wire.JobStatus{"the list": list[0], "the status": must(t, m, c, api.JobStatus, wire.JobRequest{Job: id})} {
			if (s.LastError == secret) != sees || (len(s.Bad) == 1) != sees || s.LastError == "" {
				t.Errorf("%+v sees in %s %q and %+v", c, what, s.LastError, s.Bad)
			}
		}
	}
}

// TestHistoryOfUsersIsTold: users see how much their ended jobs take.
func TestHistoryOfUsersIsTold(t *testing.T) {
	m := served(t)
	id := submitted(t, m, ann, sleepJob("j"))
	newHand(t, m, "w1").succeed(id)
	inHistory(t, m, id)
	eventually(t, "it is counted", func() bool {
		list := must(t, m, admin, api.UserList, struct{}{})
		i := slices.IndexFunc(list, func(s wire.UserStatus) bool { return s.User == "ann" })
		return list[i].History == m.past.UserBytes("ann") && list[i].History > 0
	})
}

// TestStatusOfAForgottenJob: it has all that the history knows, in the units of a status.
func TestStatusOfAForgottenJob(t *testing.T) {
	m := served(t, func(c *Config) { c.Jobs.KeepEnded = 1 })
	home(t, m, "ann")
	id := submitted(t, m, ann, withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.Queue, s.Output = "night", "dfs:/ann/out" }))
	newHand(t, m, "w1").succeed(id)
	live := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: id})
	for range 2 {
		must(t, m, ann, api.JobKill, wire.JobRequest{Job: submitted(t, m, ann, sleepJob("k"))})
	}
	inHistory(t, m, id)
	s := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: id})
	got := fmt.Sprint(s.Job, s.Name, s.User, s.Queue, s.State, s.Output, s.Submitted, s.Ended, s.Stages, s.Attempts, s.Maps.Total, s.Maps.Done, s.Reduces.Total, s.Reduces.Done)
	want := fmt.Sprint(live.Job, live.Name, live.User, live.Queue, live.State, live.Output, live.Submitted, live.Ended, live.Stages, live.Attempts, 2, 2, 1, 1)
	if got != want || s.Stage != 1 {
		t.Errorf("%s\nwant %s; stage %d", got, want, s.Stage)
	}
}

// TestBrokenRulesAreLoggedOnce: the same words are not logged again within a minute, others are.
func TestBrokenRulesAreLoggedOnce(t *testing.T) {
	var log safeLog
	m := openReal(t, t.TempDir())
	defer closeReal(t, m)
	m.cfg.Log = log.logger()
	for _, x := range []struct {
		text string
		back time.Duration // since the one before
		want int
	}{{"a", 0, 1}, {"a", 0, 1}, {"b", 0, 2}, {"a", 0, 3}, {"a", sameBroken - time.Second*30, 3}, {"a", sameBroken, 4}, {"a", 0, 4}} {
		m.broken.at = m.broken.at.Add(-x.back)
		m.logBroken([]error{fmt.Errorf("%s", x.text)})
		if got := log.count("a policy broke a rule"); got != x.want {
			t.Errorf("after %+v: logged %d times", x, got)
		}
	}
}
