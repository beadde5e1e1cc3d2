package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
)

// TestBatch: of a list of jobs one is refused, because its output is there. Those after it are not handed in, the others are, in
// their order, and no announcement stays of a job that will not come.
func TestBatch(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Racks: 2, Master: func(m *master.Config) { m.Policy = "corral" }})
	c.Finish(c.Submit(wire.JobSpec{}, "sleep", "--maps", "1", "--output", "dfs:/there"))
	file := filepath.Join(t.TempDir(), "batch.yaml")
	list := `jobs:
- {name: first,   run: sleep, output: "dfs:/first", args: [--maps, 2, --map-time, 50ms]}
- {name: taken,   run: sleep, output: "dfs:/there", recurring: true, args: [--maps, 2, --expect-input, 1000000]}
- {name: behind,  run: sleep, output: "dfs:/behind", after: [taken], recurring: true, args: [--maps, 2, --expect-input, 1000000]}
- {name: second,  run: sleep, output: "dfs:/second", after: [first], args: [--maps, 2]}
`
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(millrace, "job", "submit", "--batch", file, "--master", c.Addr, "--as", "ann").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "2 of 4 jobs did not succeed") {
		t.Errorf("%v\n%s", err, out)
	}
	at := -1
	for _, want := range []string{"first is job-2", "taken is refused: ", "behind is not handed in: taken did not succeed", "first SUCCEEDED", "second is job-3", "second SUCCEEDED"} {
		if i := strings.Index(string(out), want); i <= at {
			t.Errorf("%q does not come in its turn:\n%s", want, out)
		} else {
			at = i
		}
	}
	plans, err := api.SchedulerPlan.Call(t.Context(), c.Client, c.Addr, wire.PlanRequest{})
	if err != nil || len(plans.Plans) != 0 {
		t.Errorf("announced are %+v (%v)", plans.Plans, err)
	}
}
