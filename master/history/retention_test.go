package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/millrace/millrace/internal/wire"
)

// TestRetention: the oldest ended jobs go, by age and by number; one that runs stays.
func TestRetention(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	l := &log{}
	cfg := configOf(l, vfs.NewMem())
	cfg.Wall = func() time.Time { return now }
	cfg.MaxAge, cfg.MaxJobs = 48*time.Hour, 4
	s := open(t, cfg)
	days := func(n int) int64 { return now.AddDate(0, 0, -n).UnixMilli() }
	s.Add(l.add(life(1, days(9))[:2]...)) // it runs
	for n, age := range []int{5, 3, 1, 1, 1, 0} {
		s.Add(l.add(life(n+2, days(age))...))
	}
	caughtUp(t, s, l)
	var left []wire.JobID
	wait(t, "old jobs go", func() bool {
		got, err := s.Jobs(wire.PastQuery{})
		if err != nil {
			t.Fatal(err)
		}
		left = nil
		for _, j := range got.Jobs {
			left = append(left, j.Job)
		}
		return fmt.Sprint(left) == "[job-7 job-6 job-5 job-1]"
	})
	if e, err := s.Events(wire.PastEventsRequest{Job: "job-2"}); err != nil || len(e.Events) != 0 {
		t.Errorf("events of a job that is gone: %v, %v", e.Events, err)
	}
}

// TestRetentionByBytes: a small history stays small.
func TestRetentionByBytes(t *testing.T) {
	l := &log{}
	cfg := configOf(l, vfs.NewMem())
	cfg.MaxBytes = 1
	s := open(t, cfg)
	for n := 1; n <= 5; n++ {
		s.Add(l.add(life(n, time.Now().UnixMilli())...))
	}
	wait(t, "all jobs go", func() bool {
		got, err := s.Jobs(wire.PastQuery{})
		return err == nil && len(got.Jobs) == 0 && s.Applied() == l.durable()
	})
}

// TestPages: jobs and events come page by page, each once.
func TestPages(t *testing.T) {
	l := &log{}
	s := open(t, configOf(l, vfs.NewMem()))
	for n := 1; n <= 10; n++ {
		s.Add(l.add(life(n, int64(n))...))
	}
	caughtUp(t, s, l)
	var ids []string
	q := wire.PastQuery{Limit: 2, User: "user1", Since: 3}
	for {
		got, err := s.Jobs(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range got.Jobs {
			ids = append(ids, string(j.Job))
			q.Before = j.Job
		}
		if !got.More {
			break
		}
	}
	if fmt.Sprint(ids) != "[job-9 job-7 job-5 job-3]" {
		t.Errorf("%v", ids)
	}
	var kinds []string
	r := wire.PastEventsRequest{Job: "job-4", Limit: 2}
	for {
		got, err := s.Events(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Events {
			kinds = append(kinds, string(e.Kind))
		}
		if r.From = got.Next; r.From == nil {
			break
		}
	}
	if fmt.Sprint(kinds) != "[submitted planned done done ended]" {
		t.Errorf("%v", kinds)
	}
	if _, err := s.Events(wire.PastEventsRequest{Job: "job-4", From: []byte("x")}); wire.KindOf(err) != wire.Invalid {
		t.Error(err)
	}
}

// TestHistoryOfUsersIsLimited: of a user who has more than they may the oldest jobs go, of others none; what was counted is counted
// after a restart.
func TestHistoryOfUsersIsLimited(t *testing.T) {
	l, fs := &log{}, vfs.NewMem()
	cfg := configOf(l, fs)
	s := open(t, cfg)
	for n := 1; n <= 8; n++ {
		s.Add(l.add(life(n, 1)...))
	}
	caughtUp(t, s, l)
	each := s.UserBytes("user0") / 4
	if each == 0 {
		t.Fatal("nothing is counted")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.UserBytes = func(user string) int64 {
		if user == "user0" {
			return 2*each + each/2
		}
		return 0
	}
	s = open(t, cfg)
	s.Add(l.add(life(9, 1)...)) // of user1
	caughtUp(t, s, l)
	left := func(user string) (out []wire.JobID) {
		got, err := s.Jobs(wire.PastQuery{User: user})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range got.Jobs {
			out = append(out, j.Job)
		}
		return out
	}
	wait(t, "the oldest jobs of user0 go", func() bool { return len(left("user0")) == 2 })
	if got := fmt.Sprint(left("user0"), len(left("user1"))); got != "[job-8 job-6] 5" {
		t.Error(got)
	}
	wait(t, "they are not counted any more", func() bool { return s.UserBytes("user0") <= 2*each+each/4 })
}
