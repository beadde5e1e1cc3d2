package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/priority"
	"github.com/millrace/millrace/topology"
)

// Priority is a job's priority; the zero value is Normal, and larger goes first.
type Priority = priority.Priority

// The five priorities.
const (
	VeryLow = priority.VeryLow + iota
	Low
	Normal
	High
	VeryHigh
)

// A Size is a number of bytes that may be unknown.
type Size struct {
	Bytes int64
	Known bool
}

// Bytes returns a known size.
func Bytes(n int64) Size { return Size{Bytes: n, Known: true} }

// A JobSpec is everything known about a job when it is submitted. State keeps
// the pointer it is given: the caller must not change the spec afterwards.
type JobSpec struct {
	ID   JobID
	Name string // what it is; recurring jobs share a name
	User string // "" is the user "nobody"
	// Queue and Pool are what capacity and fair sort by. "" is "default".
	Queue, Pool string

	Priority Priority
	Submit   time.Duration // when submitted, or when a planner expects it
	Deadline time.Duration // instant of the completion-time goal; 0 means none
	Weight   float64       // share relative to other jobs; 0 means 1

	Maps, Reduces int32
	// Splits gives input bytes and replicas of each map. Empty: no locality,
	// and each map reads an equal part of Input.
	Splits Splits

	Input, Shuffle, Output Size
	Recurring              bool // seen before: sizes and times are trustworthy

	// Slowstart is the fraction of maps that must be done before reduces may
	// start. 0 means Config.Slowstart; negative means at once.
	Slowstart float64

	// HasDriver says that the job needs a driver container before its tasks
	// can run. Without one it is ready as soon as it is admitted.
	HasDriver                             bool
	MapDemand, ReduceDemand, DriverDemand Demand

	MapTime, ReduceTime time.Duration // expected length of one task; 0 unknown
	// ReduceCostRatio is the cost of a reduce relative to a map, for the
	// deadline policies (spec/deadline 3.2). 0 means 1.
	ReduceCostRatio float64
	// Work is the job's total slot time, where an oracle knows it (SRPT,
	// SITA in the simulator). 0 unknown.
	Work time.Duration
	// MapRacks and ReduceRacks are where an earlier plan has the job run, with its input stored there: a planner leaves
	// it there while those racks are up. Empty: there was no plan.
	MapRacks, ReduceRacks []topology.RackID
}

// Splits holds input bytes and replica nodes of each map task in three flat
// arrays, so that a million maps stay small.
type Splits struct {
	Bytes    []int64           // by map
	Replicas []topology.NodeID // of map 0, then of map 1, ...
	Ends     []int32           // by map: end of its replicas
}

// Reserve makes room for so many splits of up to so many replicas each.
func (s *Splits) Reserve(splits, replicas int) {
	s.Bytes, s.Ends = slices.Grow(s.Bytes, splits), slices.Grow(s.Ends, splits)
	s.Replicas = slices.Grow(s.Replicas, splits*replicas)
}

// Add appends one split.
func (s *Splits) Add(bytes int64, replicas ...topology.NodeID) {
	s.Bytes = append(s.Bytes, bytes)
	s.Replicas = append(s.Replicas, replicas...)
	s.Ends = append(s.Ends, int32(len(s.Replicas)))
}

// Len returns the number of splits.
func (s *Splits) Len() int { return len(s.Ends) }

// Of returns the replica nodes of split i; the caller must not change them.
func (s *Splits) Of(i int32) []topology.NodeID {
	if int(i) >= len(s.Ends) {
		return nil
	}
	start := int32(0)
	if i > 0 {
		start = s.Ends[i-1]
	}
	return s.Replicas[start:s.Ends[i]]
}

// copies returns how many replicas each split has; 0 if the numbers differ.
func (s *Splits) copies() int32 {
	if len(s.Ends) == 0 {
		return 0
	}
	each := s.Ends[0]
	for i, end := range s.Ends {
		if int(end) != (i+1)*int(each) {
			return 0
		}
	}
	return each
}

const maxTasks = 1 << 28

// Validate reports what is wrong with the spec, if anything.
func (s *JobSpec) Validate() error {
	switch {
	case s.ID < 0:
		return fmt.Errorf("job id %d is negative", s.ID)
	case s.Maps < 0 || s.Reduces < 0 || s.Maps > maxTasks || s.Reduces > maxTasks:
		return fmt.Errorf("job %v: %d maps and %d reduces: each must be 0..%d", s.ID, s.Maps, s.Reduces, maxTasks)
	case !s.Priority.Valid():
		return fmt.Errorf("job %v: %v is not between %v and %v", s.ID, s.Priority, VeryLow, VeryHigh)
	case s.Weight < 0:
		return fmt.Errorf("job %v: weight %g is negative", s.ID, s.Weight)
	case s.Slowstart > 1:
		return fmt.Errorf("job %v: slow start %g is above 1", s.ID, s.Slowstart)
	case s.Input.Bytes < 0 || s.Shuffle.Bytes < 0 || s.Output.Bytes < 0:
		return fmt.Errorf("job %v: negative size", s.ID)
	}
	return s.Splits.validate(s.ID, s.Maps)
}

func (s *Splits) validate(j JobID, maps int32) error {
	if len(s.Ends) == 0 && len(s.Bytes) == 0 {
		return nil
	}
	if len(s.Ends) != int(maps) || len(s.Bytes) != int(maps) {
		return fmt.Errorf("job %v: %d maps but %d splits and %d split sizes", j, maps, len(s.Ends), len(s.Bytes))
	}
	last := int32(0)
	for i, e := range s.Ends {
		if e < last || int(e) > len(s.Replicas) || s.Bytes[i] < 0 {
			return fmt.Errorf("job %v: split %d is malformed", j, i)
		}
		last = e
	}
	return nil
}
