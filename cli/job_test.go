package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/wire"
)

func TestJobStatusSaysWhereInputWas(t *testing.T) {
	for _, tt := range []struct {
		near map[string]int
		want string
	}{
		{map[string]int{"node": 17, "remote": 1}, "\ninput    of 17 maps on their node, of 0 in their rack, of 1 elsewhere\n"},
		{nil, "\nattempts 3\noutput   dfs:/o\n"},
	} {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		printStatus(cmd, wire.JobStatus{Job: "job-1", Attempts: 3, Output: "dfs:/o", Locality: tt.near}, time.Time{})
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("%v is not in\n%s", tt.want, out.String())
		}
	}
}

// TestJobStatusOfAGoal: what a policy forecasts is said with its unit, and after the end whether the goal was met.
func TestJobStatusOfAGoal(t *testing.T) {
	birth := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		status wire.JobStatus
		met    string
		want   string
	}{
		{wire.JobStatus{
			State: wire.Running, Submitted: 60_000, Deadline: 90_000,
			Figures: []wire.Figure{{Name: "need-maps", Value: 11.98}, {Name: "forecast", Value: 91.577}, {Name: "late", Value: 1.577}},
		}, "null", "goal     to be done by 12:01:30, 30.00s after its submission\n" +
			"needs    11.98 containers for maps from now on, to meet its goal (need-maps)\n" +
			"forecast done at 12:01:31, with the containers that it holds\nlate     by 1.58s, if so\n"},
		{wire.JobStatus{State: wire.Running, Figures: []wire.Figure{{Name: "late", Value: -2}}}, "null", "late     no: 2.00s before its goal, if so\n"},
		{wire.JobStatus{State: wire.Succeeded, Submitted: 60_000, Deadline: 90_000, Ended: 85_000}, "true", "after its submission: met, 5.00s before\n"},
		{wire.JobStatus{State: wire.Succeeded, Submitted: 60_000, Deadline: 90_000, Ended: 95_000}, "false", "after its submission: missed by 5.00s\n"},
		{wire.JobStatus{State: wire.Failed, Submitted: 60_000, Deadline: 90_000, Ended: 85_000}, "false", ": missed, the job is FAILED\n"},
		{wire.JobStatus{State: wire.Queued, Why: "job-2 waits"}, "null", "QUEUED\nwaits    job-2 waits\nmaps "},
	} {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		printStatus(cmd, tt.status, birth)
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q is not in\n%s", tt.want, out.String())
		}
		if met, err := json.Marshal(tt.status.GoalMet()); err != nil || string(met) != tt.met {
			t.Errorf("%+v: the goal was met: %s, %v; want %s", tt.status, met, err, tt.met)
		}
	}
}
