package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
)

// TestUserLimits: ann, who may have two jobs at once, two containers and three jobs that wait, gets no more, hears why, and can
// change nothing of it; bob's jobs run meanwhile. The limits outlive the master, and its audit log has the changes and refusals.
func TestUserLimits(t *testing.T) {
	t.Parallel()
	dir := ""
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Key: newKey(t), Master: func(cfg *master.Config) { dir = cfg.Dir }})
	admin, ann, bob := newPerson(t, c, secure.Admin, "eve"), newPerson(t, c, secure.User, "ann"), newPerson(t, c, secure.User, "bob")
	limit := wire.LimitRequest{User: "ann", Changes: map[string]int64{"running": 2, "containers": 2, "waiting": 3}}
	if _, err := api.UserLimit.Call(t.Context(), ann.Client, c.Addr, limit); wire.KindOf(err) != wire.Denied {
		t.Errorf("ann sets her own limits: %v", err)
	}
	if _, err := api.UserLimit.Call(t.Context(), admin.Client, c.Addr, limit); err != nil {
		t.Fatal(err)
	}
	submit := func(p person, out, time string) (wire.JobID, error) {
		args := []string{"--maps=4", "--reduces=0", "--map-time=" + time, "--output=dfs:/tmp/" + out}
		got, err := api.JobSubmit.Call(t.Context(), p.Client, c.Addr, wire.JobSpec{
			Name: out, Stages: 1, Output: "dfs:/tmp/" + out, Program: wire.Program{Builtin: "sleep", Args: args},
		})
		return got.Job, err
	}
	var ids []wire.JobID
	for _, out := range []string{"a1", "a2", "a3"} {
		id, err := submit(ann, out, "10m")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	why := func(id wire.JobID) string {
		text, _ := api.JobWhy.Call(t.Context(), ann.Client, c.Addr, wire.JobRequest{Job: id}) // nothing while the master is away
		return text.Text
	}
	mine := func() wire.UserStatus {
		list, err := api.UserList.Call(t.Context(), ann.Client, c.Addr, struct{}{})
		if err != nil || len(list) != 1 || list[0].User != "ann" {
			t.Fatalf("ann sees %v, %v", list, err)
		}
		return list[0]
	}
	c.Wait("ann's first job has its driver and a map", func() bool { return mine().Containers == 2 })
	c.Wait("job why names her containers", func() bool { return strings.Contains(why(ids[0]), "user ann holds 2 of at most 2 containers") })
	c.Wait("job why names her jobs", func() bool { return strings.Contains(why(ids[2]), "2 jobs of user ann run") })
	if _, err := submit(ann, "a4", "10m"); err != nil {
		t.Fatal(err)
	}
	_, err := submit(ann, "a5", "10m")
	if wire.KindOf(err) != wire.Quota || !strings.Contains(err.Error(), "3 jobs of user ann wait") {
		t.Errorf("a job too many: %v", err)
	}
	id, err := submit(bob, "b", "1ms")
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Finish(id); s.State != "SUCCEEDED" {
		t.Errorf("bob's job: %s %s", s.State, s.Error)
	}
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	c.StartMaster()
	c.Wait("the next master knows", func() bool { return strings.Contains(why(ids[2]), "2 jobs of user ann run") })
	checkAudited(t, filepath.Join(dir, "audit.log"))
}

// checkAudited: the log has ann's attempt, the change, and the refusal.
func checkAudited(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(string(b), "\n")
	for _, want := range [][]string{
		{`"user":"ann"`, `"user.limit"`, `"allowed":false`},
		{`"user":"eve"`, `"user.limit"`, `"allowed":true`, `containers`},
		{`"user":"ann"`, `"job.submit"`, `"allowed":false`, `3 jobs of user ann wait`},
	} {
		if !slices.ContainsFunc(text, func(line string) bool {
			return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(line, part) })
		}) {
			t.Errorf("the audit log has no line with %q", want)
		}
	}
}
