package tracker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// limited is a master on which user ann, or all, have limits.
func limited(t *testing.T, who string, changes map[string]int64) *Tracker {
	t.Helper()
	c := newCore(t)
	c.cfg.Exempt = func(user string) bool { return user == "root" }
	c.Resume(0)
	if err := c.SetLimits(0, wire.LimitRequest{User: who, Changes: changes}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Tracker) sleeps(now time.Duration, user string) (wire.JobID, error) {
	return c.Submit(now, wire.JobSpec{Name: "j", User: user, Stages: 1, Program: wire.Program{Builtin: "sleep"}})
}

// mustSleep submits a job that must be taken.
func mustSleep(t *testing.T, c *Tracker, now time.Duration, user string) wire.JobID {
	t.Helper()
	id, err := c.sleeps(now, user)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestJobsBeyondTheLimitWait: the policies hear of a second job of ann when the first has ended, of one of bob's at once; the
// same holds after a restart, and when the limit is taken away.
func TestJobsBeyondTheLimitWait(t *testing.T) {
	c := limited(t, "ann", map[string]int64{"running": 1})
	first, second, others := mustSleep(t, c, 1, "ann"), mustSleep(t, c, 2, "ann"), mustSleep(t, c, 3, "bob")
	knows := func(when string, c *Tracker, want ...wire.JobID) {
		t.Helper()
		var got []wire.JobID
		for _, st := range c.liveStages() {
			got = append(got, st.job.id)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s the policies know %v, want %v", when, got, want)
		}
	}
	knows("at first", c, first, others)
	if why, err := c.Why(3, second); err != nil || !strings.Contains(why, "1 job of user ann runs or is about to,") {
		t.Error(why, err)
	}
	knows("after a restart", restarted(t, c.Take().Records), first, others)
	knows("after a restart from a snapshot", restarted(t, c.Snapshot(3)), first, others)
	if err := c.Kill(4, first, "enough"); err != nil {
		t.Fatal(err)
	}
	knows("when one has ended", c, others, second)
	third := mustSleep(t, c, 5, "ann")
	if err := c.SetLimits(6, wire.LimitRequest{User: "ann", Changes: map[string]int64{"running": wire.NoLimit}}); err != nil {
		t.Fatal(err)
	}
	knows("without a limit", c, others, second, third)
	if err := c.Kill(7, third, "enough"); err != nil {
		t.Fatal(err)
	}
}

// TestHeldJobsCanBeKilled: a job that the policies have never heard of ends like any other.
func TestHeldJobsCanBeKilled(t *testing.T) {
	c := limited(t, "ann", map[string]int64{"running": 1})
	mustSleep(t, c, 1, "ann")
	held := mustSleep(t, c, 2, "ann")
	if err := c.Kill(3, held, "enough"); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(held); err != nil || s.State != "CANCELLED" {
		t.Error(s.State, err)
	}
}

// TestSubmissionsBeyondTheLimitAreRefused: by those that wait, and by those of the last minute, also of jobs that have ended and
// of before a restart. The limits of all bind everybody but administrators and those with limits of their own.
func TestSubmissionsBeyondTheLimitAreRefused(t *testing.T) {
	for name, n := range map[string]time.Duration{"waiting": 0, "submissions": time.Minute} {
		c := limited(t, wire.AllUsers, map[string]int64{name: 2})
		if err := c.SetLimits(0, wire.LimitRequest{User: "free", Changes: map[string]int64{name: wire.NoLimit}}); err != nil {
			t.Fatal(err)
		}
		first := mustSleep(t, c, time.Second, "ann")
		mustSleep(t, c, 2*time.Second, "ann")
		again := restarted(t, c.Take().Records)
		for _, c := range []*Tracker{c, again} {
			_, err := c.sleeps(3*time.Second, "ann")
			if wire.KindOf(err) != wire.Quota || !strings.Contains(fmt.Sprint(err), "user ann") {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range 3 {
			mustSleep(t, c, 3*time.Second, "free")
			mustSleep(t, c, 3*time.Second, "root")
		}
		if err := c.Kill(3*time.Second, first, "enough"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.sleeps(4*time.Second, "ann"); (err == nil) != (name == "waiting") {
			t.Errorf("%s, when one has ended: %v", name, err)
		}
		mustSleep(t, c, 4*time.Second+n, "bob")
		if name == "submissions" {
			mustSleep(t, c, 1*time.Second+n, "ann")
		}
	}
}

// TestLimitsThatMakeNoSense are refused and change nothing.
func TestLimitsThatMakeNoSense(t *testing.T) {
	c := limited(t, "ann", map[string]int64{"running": 3})
	for _, r := range []wire.LimitRequest{
		{User: "ann", Changes: map[string]int64{"running": 1, "speed": 1}},
		{User: "ann", Changes: map[string]int64{"running": -2}},
		{Changes: map[string]int64{"running": 1}},
		{User: "ann", Changes: map[string]int64{"containers": 1}},
		{User: strings.Repeat("a", 10_000), Changes: map[string]int64{"running": 1}},
		{User: "ann", Changes: map[string]int64{"containers": 1 << 40}},
	} {
		if err := c.SetLimits(1, r); wire.KindOf(err) != wire.Invalid {
			t.Errorf("%v: %v", r.Changes, err)
		}
	}
	if _, err := c.sleeps(1, wire.AllUsers); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a job of all: %v", err)
	}
	if l := c.limits(c.userNamed("ann")); l != (wire.Limits{Running: 3}) {
		t.Errorf("%+v", l)
	}
}

// TestIdleUsersAreForgotten: names that came once do not stay for ever.
func TestIdleUsersAreForgotten(t *testing.T) {
	c := limited(t, "ann", map[string]int64{"running": 3})
	now := time.Duration(0)
	for i := range 3 * maxIdle {
		now += time.Second
		id := mustSleep(t, c, now, fmt.Sprint("user", i))
		if err := errors.Join(c.Kill(now, id, "enough")); err != nil {
			t.Fatal(err)
		}
		c.Tick(now)
	}
	if len(c.users) > 2*maxIdle+200 || c.users["ann"] == nil {
		t.Errorf("%d users are remembered", len(c.users))
	}
}

// TestLateUsersAreRemembered: one who has submitted in the last minute is not forgotten, so that the limit of submissions holds; one who never did is.
func TestLateUsersAreRemembered(t *testing.T) {
	c := limited(t, "carl", map[string]int64{"running": 3})
	if err := c.SetLimits(0, wire.LimitRequest{User: "carl", Changes: map[string]int64{"running": 0}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(1, mustSleep(t, c, 1, "ann"), "enough"); err != nil {
		t.Fatal(err)
	}
	for at, want := range []bool{true, false} {
		now := time.Duration(at)*recently + recently
		c.Tick(now)
		c.usersMost = 0 // as after a thousand others
		c.userNamed(fmt.Sprint("user", at))
		if got := c.users["ann"] != nil; got != want || c.users["carl"] != nil {
			t.Errorf("after %v ann is remembered: %v, want %v; carl: %v", now, got, want, c.users["carl"] != nil)
		}
	}
}

// TestLimitsReachThePolicies: the policies know how many containers a user may have: when the limit changes, and of those who come later.
func TestLimitsReachThePolicies(t *testing.T) {
	c := limited(t, wire.AllUsers, map[string]int64{"containers": 2})
	want := func(when string, c *Tracker, user string, n int32) {
		t.Helper()
		if got := c.View().UserLimit(user); got != n {
			t.Errorf("%s %s may have %d containers, want %d", when, user, got, n)
		}
	}
	for user, n := range map[string]int32{"ann": 2, "bob": 2, "root": 0} {
		mustSleep(t, c, 1, user)
		want("as all", c, user, n)
	}
	longest := strings.Repeat("x", wire.MaxName)
	for _, r := range []wire.LimitRequest{
		{User: "ann", Changes: map[string]int64{"containers": 5}},
		{User: longest, Changes: map[string]int64{"containers": 3}},
		{User: wire.AllUsers, Changes: map[string]int64{"containers": 4}},
	} {
		if err := c.SetLimits(2, r); err != nil {
			t.Fatal(err)
		}
	}
	mustSleep(t, c, 2, longest)
	next := restarted(t, c.Snapshot(3))
	for user, n := range map[string]int32{"ann": 5, "bob": 4, "root": 0, longest: 3, wire.AllUsers: 0} {
		want("by a limit of their own", c, user, n)
		if user != "root" { // whom nothing exempts there
			want("after a restart", next, user, n)
		}
	}
}

// TestLimitOfOneWhoWasForgotten: the limit of all that a user had is gone for them, too, who had no jobs when it was taken away.
func TestLimitOfOneWhoWasForgotten(t *testing.T) {
	c := limited(t, wire.AllUsers, map[string]int64{"containers": 2})
	if err := c.Kill(1, mustSleep(t, c, 1, "ann"), "enough"); err != nil {
		t.Fatal(err)
	}
	c.Tick(time.Hour)
	c.usersMost = 0 // as after a thousand others
	mustSleep(t, c, time.Hour, "bob")
	if c.users["ann"] != nil {
		t.Fatal("ann is remembered")
	}
	if err := c.SetLimits(time.Hour, wire.LimitRequest{User: wire.AllUsers, Changes: map[string]int64{"containers": 0}}); err != nil {
		t.Fatal(err)
	}
	mustSleep(t, c, time.Hour, "ann")
	if n := c.View().UserLimit("ann"); n != 0 {
		t.Errorf("for the policies ann may have %d containers, want any number", n)
	}
}

// TestNextStartsAtTheEnd: the end of a job lets its user's next one start its driver at once, without a report or a tick.
func TestNextStartsAtTheEnd(t *testing.T) {
	s := newScene(t, 1, 2)
	if err := s.c.SetLimits(s.now, wire.LimitRequest{User: "ann", Changes: map[string]int64{"running": 1}}); err != nil {
		t.Fatal(err)
	}
	next, err := s.c.sleeps(s.now, "ann")
	if err != nil {
		t.Fatal(err)
	}
	s.say(s.n1)
	if id := runningDriver(s.c, next); id.Job == next {
		t.Fatal("it runs beside the first, beyond the limit")
	}
	if err := s.c.Kill(s.now, s.job, "enough"); err != nil {
		t.Fatal(err)
	}
	if id := runningDriver(s.c, next); id.Job != next {
		t.Error("its driver waits although its user's other job has ended and a node has room")
	}
}
