package wire

import "testing"

func TestStates(t *testing.T) {
	for state, ended := range map[JobState]bool{Queued: false, Running: false, Succeeded: true, Failed: true, Cancelled: true} {
		if state.Ended() != ended {
			t.Errorf("%s has ended: %t", state, state.Ended())
		}
	}
	if (&PastJob{}).Over() || !(&PastJob{Ended: 1}).Over() {
		t.Error("a job is over when it has ended, and not before")
	}
}

// TestGoals: a goal is met by a job that succeeds in time, missed by any other that has ended, and open before.
func TestGoals(t *testing.T) {
	yes, no := true, false
	for what, x := range map[string]struct {
		s       JobStatus
		allowed int64
		met     *bool
	}{
		"no goal":            {JobStatus{Submitted: 100, Ended: 200, State: Succeeded}, 0, nil},
		"under way":          {JobStatus{Submitted: 100, Deadline: 160, State: Running}, 60, nil},
		"in time":            {JobStatus{Submitted: 100, Deadline: 160, Ended: 160, State: Succeeded}, 60, &yes},
		"late":               {JobStatus{Submitted: 100, Deadline: 160, Ended: 161, State: Succeeded}, 60, &no},
		"failed in time":     {JobStatus{Submitted: 100, Deadline: 160, Ended: 120, State: Failed}, 60, &no},
		"due before it came": {JobStatus{Submitted: 100, Deadline: 90, Ended: 101, State: Succeeded}, 0, &no},
	} {
		got := x.s.GoalMet()
		if x.s.Allowed() != x.allowed || (got == nil) != (x.met == nil) || got != nil && *got != *x.met {
			t.Errorf("%s: %d allowed, met %v", what, x.s.Allowed(), got)
		}
	}
}

func TestModes(t *testing.T) {
	for mode, want := range map[uint16]string{
		0: "----------", 0o777: "-rwxrwxrwx", 0o640: "-rw-r-----", 0o124: "---x-w-r--", 0o1777: "-rwxrwxrwt", 0o1776: "-rwxrwxrwT", 0o1000: "---------T", 0o2001: "---------x",
	} {
		if got := ModeText(false, mode); got != want {
			t.Errorf("%o is %s, want %s", mode, got, want)
		}
		if got := ModeText(true, mode); got != "d"+want[1:] {
			t.Errorf("a directory's %o is %s", mode, got)
		}
	}
}

func TestCapacities(t *testing.T) {
	for c, want := range map[Capacity]struct {
		text             string
		places, attempts int
	}{
		{}:                               {"0 vcores, 0 MB", 1, 0},
		{Containers: 4, VCores: 2}:       {"4 containers", 4, 4},
		{MapSlots: 3, ReduceSlots: 2}:    {"3 map and 2 reduce slots", 2, 5},
		{MapSlots: 1, ReduceSlots: 2}:    {"1 map and 2 reduce slots", 2, 3},
		{MapSlots: 3}:                    {"3 map and 0 reduce slots", 1, 3},
		{VCores: 8, MemoryMB: 1 << 14}:   {"8 vcores, 16384 MB", 8, 8},
		{MapSlots: 1, VCores: 6}:         {"1 map and 0 reduce slots", 6, 1},
		{Containers: 1, ReduceSlots: 12}: {"1 containers", 12, 1},
	} {
		if c.String() != want.text || c.Places() != want.places || c.Attempts() != want.attempts {
			t.Errorf("%+v: %s, %d places, %d attempts", c, c, c.Places(), c.Attempts())
		}
	}
}

// TestOutputsAddUp: what a reduce reads is known by a sum that does not depend on the order, and does on which map put out what.
func TestOutputsAddUp(t *testing.T) {
	part := func(m int32, sum uint64) uint64 { return (&MapOutput{Map: m, Sum: sum}).Part() }
	if part(1, 0) != 0 || part(1, 5) == 0 {
		t.Error("a part of nothing is something, or the other way round")
	}
	if part(1, 5)+part(2, 6) == part(1, 6)+part(2, 5) {
		t.Error("outputs of two maps may be exchanged")
	}
	s := Split{Ranges: []Range{{Length: 3, Offset: 100}, {Length: 4}}}
	if n := s.Bytes(); n != 7 {
		t.Errorf("a split of 3 and 4 bytes has %d", n)
	}
}

// TestNamesOfThings: names that stand in paths, logs and journals.
func TestNamesOfThings(t *testing.T) {
	id := AttemptID{Job: "job-7", Stage: 2, Kind: ReduceTask, Index: 3, Try: 1<<32 + 4}
	for got, want := range map[string]string{
		id.String(): "job-7/2/reduce/3#4294967300", StageRef{"job-7", 2}.String(): "job-7-2", BlockID(255).String(): "blk_00000000000000ff",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
