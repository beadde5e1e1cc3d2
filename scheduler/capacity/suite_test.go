package capacity

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

var variants = map[string]map[string]string{
	"default":   nil,
	"queues":    {"queues": "default=20,a=50,b=30", "user-limit": "*=25,a=50", "priority": "b=1", "user-limit-factor": "*=2"},
	"caps":      {"queues": "default=20,a=50,b=30", "max-capacity": "default=20,a=50,b=60", "users-by": "jobs"},
	"nested":    {"queues": "a=60,b=40,a.x=50,a.y=50,b.default=100", "max-capacity": "a=80,a.x=50", "user-limit": "*=30"},
	"backlog":   {"queues": "default=20,a=50,b=30", "queue-order": "backlog", "usage-lag": "300ms"},
	"rack wait": {"rack-wait": "1", "locality-wait": "2", "after-off-switch": "2", "tasks-per-heartbeat": "2"},
	"memory":    {"map-slot-mb": "1024", "reduce-slot-mb": "1024", "max-map-mb": "4096", "max-reduce-mb": "4096", "queues": "default=20,a=50,b=30"},
	"usual":     {"queues": "default=20,a=50,b=30", "user-limit": "*=25", "rampup": "0.5"},
	"tiny":      {"queues": "default=1,a=1,b=98", "user-limit-factor": "*=0.1", "max-capacity": "default=1,a=1"},
}

func TestSuite(t *testing.T) {
	for name, params := range variants {
		t.Run(name, func(t *testing.T) {
			schedulertest.Suite(t, schedulertest.Factory(t, &Info, params), schedulertest.Promises{PerTask: time.Minute, Quick: name != "default" && name != "nested"})
		})
	}
}

func TestInitSuite(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"default": nil,
		"tight":   {"queues": "default=20,a=50,b=30", "max-system-jobs": "3", "max-tasks": "*=30", "max-tasks-per-user": "*=25", "priority": "a=1", "poll": "3s"},
		"refuses": {"queues": "default=60,a=40", "max-system-jobs": "1", "accept-factor": "*=2", "max-map-mb": "1024"},
	} {
		t.Run(name, func(t *testing.T) {
			schedulertest.AdmissionSuite(t, func() scheduler.Admission {
				a, err := InitInfo.Make(params)
				if err != nil {
					t.Fatal(err)
				}
				return a.(scheduler.Admission)
			}, nil, schedulertest.Promises{Patience: time.Hour, PerTask: 10 * time.Second})
		})
	}
}

func TestScenarios(t *testing.T) { schedulertest.Scenarios(t, "testdata", &Info, &InitInfo) }
