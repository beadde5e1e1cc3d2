package schedulertest

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/millrace/millrace/scheduler"
)

var oldestInfo = scheduler.Info{Name: "oldest", Seam: scheduler.Assignment, Setup: scheduler.Unset(func() (oldest, error) { return oldest{}, nil })}

// Mistakes in a story are told, not passed over.
func TestScenarioMistakes(t *testing.T) {
	for story, want := range map[string]string{
		"dance n1":                      "no such command; there are: cluster config",
		"job j1 maps=1 colour=red":      "colour=red",
		"job j1 maps=many":              "maps must be a number",
		"job j1 maps=1 block=n9":        "no node n9",
		"heartbeat n9":                  "no node n9",
		"heartbeat":                     "the name of the node is missing",
		"finish j7/map/0":               "no job j7",
		"finish j1":                     `not like j1/map/0`,
		"policy magic":                  "may not use policy",
		"wait long":                     "not a length of time",
		"net r9 up=1":                   "no rack r9",
		"job j1 maps=1 input=much":      "input must be a number of bytes",
		"job j1 maps=1 deadline=sooner": "deadline must be a duration",
	} {
		s := &scenario{infos: []*scheduler.Info{&oldestInfo}, jobs: make(map[string]scheduler.JobID)}
		err := s.line(t, "cluster racks=1 nodes=1 maps=1")
		if err == nil {
			err = s.line(t, story)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", story, err, want)
		}
	}
	s := &scenario{infos: []*scheduler.Info{&oldestInfo}, jobs: make(map[string]scheduler.JobID)}
	if err := s.line(t, "heartbeat n1"); err == nil || !strings.Contains(err.Error(), "no cluster yet") {
		t.Errorf("without a cluster: %v", err)
	}
}

func (s *scenario) line(t *testing.T, line string) error {
	t.Helper()
	cmd, args, err := datadriven.ParseLine(line)
	if err != nil {
		t.Fatal(err)
	}
	return s.command(cmd, &words{args: args})
}

func TestScenarios(t *testing.T) { Scenarios(t, "testdata", &oldestInfo) }
