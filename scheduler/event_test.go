package scheduler

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/topology"
)

// An event survives being written down and read again: decision logs live on it.
func TestEventsCanBeWritten(t *testing.T) {
	spec := &JobSpec{ID: 3, Name: "sort", Maps: 2, Reduces: 1, Input: Bytes(7), Deadline: time.Minute, MapDemand: Demand{MemoryMB: 9}}
	spec.Splits.Add(4, 1, 2)
	spec.Splits.Add(3)
	task := TaskID{Job: 3, Kind: Reduce, Index: 1}
	seen := make(map[EventKind]bool)
	for _, e := range []Event{
		NodeUp(1, Capacity{Containers: 3}), NodeUpdated(1, Capacity{VCores: 2}), NodeDraining(1), NodeDown(1), Heartbeat(1),
		JobSubmitted(spec), JobAdmitted(3), JobReady(3, spec), JobFinished(3), JobFailed(3), JobVanished(3),
		Launched(task, 1, RackLocal, true), TaskFinished(task, 1, time.Second, 5, 6), TaskFailed(task, 1), TaskKilled(task, 1), TaskLost(task),
		Progress(3, 12.5), NetSample(2, 0.5, 0.25, true), CPUSample(topology.NoNode, 33), Ban(3, 1), Unban(3, 1), ConfigChanged("marp=0.09"), UserLimit("ann", 4),
		Restored(task, 1, 0, time.Second, 5, 6), Taught(&Lesson{Name: "n", MapTime: time.Second}),
	} {
		seen[e.Kind] = true
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back Event
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Errorf("%v changed:\n%s", e, diff)
		}
		if e.String() == "" || e.Kind.String() == "" {
			t.Errorf("%v has no name", e.Kind)
		}
	}
	for k := EvNone + 1; k < numEventKinds; k++ {
		if !seen[k] {
			t.Errorf("no constructor makes %v", k)
		}
	}
}
