package integration

import (
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
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
