package integration

import (
	"errors"
	"fmt"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// TestQueuesHaveLists: who is not on a queue's list cannot submit there, and only the owner, the
// queue's administrators and the cluster's can kill a job.
func TestQueuesHaveLists(t *testing.T) {
	t.Parallel()
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: key, Master: func(m *master.Config) {
		m.Queues = map[string]master.Queue{
			"default":  {Submit: []string{"*"}},
			"research": {Submit: []string{"ann"}, Admin: []string{"eve"}},
			"closed":   {},
		}
	}})
	as := func(user string) *client.Client {
		pem, err := key.PEM(secure.User, user, "")
		if err != nil {
			t.Fatal(err)
		}
		cl, err := client.New(client.Config{Master: c.Addr, User: user, Cert: pem})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cl.Close() })
		return cl
	}
	submit := func(user, queue string) (wire.JobID, error) {
		return as(user).Submit(t.Context(), wire.JobSpec{
			Name: "nap", Queue: queue, Stages: 1, Output: "dfs:/tmp/" + user + queue,
			Program: wire.Program{Builtin: "sleep", Args: []string{"--maps", "1", "--reduces", "1", "--map-time", "30s", "--output", "dfs:/tmp/" + user + queue}},
		})
	}
	for _, x := range []struct {
		user, queue string
		want        wire.Kind
	}{
		{"bob", "", 0},
		{"ann", "research", 0},
		{"eve", "research", 0},
		{"bob", "research", wire.Denied},
		{"ann", "closed", wire.Denied},
		{"ann", "nowhere", wire.Invalid},
	} {
		id, err := submit(x.user, x.queue)
		if x.want == 0 && err != nil || x.want != 0 && wire.KindOf(err) != x.want {
			t.Errorf("%s submits to %q: %v", x.user, x.queue, err)
		}
		if err != nil {
			continue
		}
		if err := as("mallory").Kill(t.Context(), id, ""); wire.KindOf(err) != wire.Denied {
			t.Errorf("mallory kills a job of %s: %v", x.user, err)
		}
		killer := x.user
		if x.queue == "research" {
			killer = "eve"
		}
		if err := as(killer).Kill(t.Context(), id, ""); err != nil {
			t.Errorf("%s kills a job of %s: %v", killer, x.user, err)
		}
	}
	list, err := as("bob").Queues(t.Context())
	if err != nil || len(list) != 3 || list[2].Queue != "research" || list[2].Failed != 2 || list[2].Admin[0] != "eve" {
		t.Errorf("queues: %+v, %v", list, err)
	}
}

// TestStatusSaysWhyAJobIsQueued: what job why knows stands in the status of a job that waits for admission, and in the log.
func TestStatusSaysWhyAJobIsQueued(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Worker: func(w *worker.Config) { w.Capacity.Containers = 2 }, Master: func(m *master.Config) {
		m.Admission, m.AdmissionParams = "marp", map[string]string{"marp": "0.5"}
	}})
	cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var ids [2]wire.JobID
	for i := range ids {
		out := fmt.Sprint("dfs:/tmp/nap", i)
		ids[i], err = cl.Submit(t.Context(), wire.JobSpec{
			Name: "nap", Stages: 1, Output: out, Deadline: 60_000,
			Program: wire.Program{Builtin: "sleep", Args: []string{"--maps", "1", "--reduces", "1", "--map-time", "30s", "--output", out}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the second is held", func() bool {
		d, err := cl.Decisions(t.Context(), wire.DecisionsRequest{Job: ids[1]})
		return err == nil && len(d.Decisions) > 0
	})
	why, err1 := cl.Why(t.Context(), ids[1])
	s, err2 := cl.Status(t.Context(), ids[1])
	if err := errors.Join(err1, err2); err != nil || s.State != wire.Queued || s.Why == "" || s.Why != why || s.Deadline != s.Submitted+60_000 {
		t.Errorf("%v: the status is %+v, and why %q", err, s, why)
	}
	if first, err := cl.Status(t.Context(), ids[0]); err != nil || first.State == wire.Queued || first.Why != "" {
		t.Errorf("%+v, %v", first, err)
	}
}
