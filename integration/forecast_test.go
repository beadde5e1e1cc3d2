package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
)

// seen are the stages of a name as the policies were told of them, when they came and when their drivers had planned them.
func (d *decisions) seen(name string) (out []*scheduler.JobSpec) {
	for _, l := range d.lines() {
		if s := l.Event.Spec; s != nil && s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// TestChainsAreKnown: of each stage of a chain that recurs the policies know what the same stage took before; the forecast
// shows it, and says so of names that nobody knows.
func TestChainsAreKnown(t *testing.T) {
	t.Parallel()
	var log decisions
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) {
		m.Policy, m.Admission, m.Jobs.Decisions = "fifo", "unlimited", log.add
	}})
	dfsPut(t, c, "/in", []byte(strings.Repeat("one two two three three three\n", 2000)))
	var before [2]int
	for run := range 3 {
		id := c.Submit(wire.JobSpec{Name: "report", Recurring: true}, "grep", "--pattern", "t[a-z]+", "--input", "dfs:/in", "--output", fmt.Sprint("dfs:/out", run))
		s := c.Finish(id)
		if s.State != "SUCCEEDED" || s.Stages != 2 {
			t.Fatalf("%+v", s)
		}
		for stage := range 2 {
			list := log.seen(fmt.Sprint("report/", stage))
			for _, spec := range list[before[stage]:] {
				if known := spec.Shuffle.Known && spec.MapTime > 0 && spec.Input.Known; known != (run > 0) && (run > 0 || spec.Shuffle.Known) {
					t.Errorf("run %d, stage %d: the policies see %+v", run, stage, spec)
				}
			}
			before[stage] = len(list)
		}
	}
	ask := func(name string) (wire.Forecast, error) {
		return api.SchedulerForecast.Call(context.Background(), c.Client, c.Addr, wire.ForecastRequest{Name: name})
	}
	f, err := ask("report")
	if err != nil || len(f.Stages) != 2 || f.Stages[1].Name != "report/1" || f.Stages[0].Jobs != 3 || f.Stages[0].Input.Mean == 0 || f.Stages[0].Input.Deviation != 0 || f.Stages[0].Shuffle.Mean == 0 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := ask("other"); wire.KindOf(err) != wire.NotFound || !strings.Contains(err.Error(), "other") {
		t.Errorf("a name that nobody knows: %v", err)
	}
}
