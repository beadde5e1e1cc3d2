package mapreduce

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// MaxCounters is how many different counters a job may have. A program that makes
// names from data would otherwise fill the memory of whoever gathers them.
const MaxCounters = 1000

// A Counter is a number that an attempt adds to. Attempts that do not commit do
// not count. It is safe for concurrent use.
type Counter struct{ n atomic.Int64 }

// Add adds n, which may be negative.
func (c *Counter) Add(n int64) { c.n.Add(n) }

// Value returns the count so far.
func (c *Counter) Value() int64 { return c.n.Load() }

// Counts is a snapshot of counters: group, name, number.
type Counts map[string]map[string]int64

// Add adds other's numbers to c.
func (c Counts) Add(other Counts) {
	for group, names := range other {
		if c[group] == nil {
			c[group] = map[string]int64{}
		}
		for name, n := range names {
			c[group][name] += n
		}
	}
}

// Get returns one number, 0 when it was never counted.
func (c Counts) Get(group, name string) int64 { return c[group][name] }

// Each calls fn for all counters in order of group and name.
func (c Counts) Each(fn func(group, name string, n int64)) {
	for _, g := range slices.Sorted(maps.Keys(c)) {
		for _, n := range slices.Sorted(maps.Keys(c[g])) {
			fn(g, n, c[g][n])
		}
	}
}

// The built-in counters, all in group [TaskGroup].
const (
	TaskGroup = "task"

	MapInputRecords      = "map_input_records"
	MapInputBytes        = "map_input_bytes"
	MapOutputRecords     = "map_output_records"
	MapOutputBytes       = "map_output_bytes"
	MapSkippedRecords    = "map_skipped_records"
	CombineInputRecords  = "combine_input_records"
	CombineOutputRecords = "combine_output_records"
	Spills               = "spills"
	SpilledRecords       = "spilled_records"
	SpilledBytes         = "spilled_bytes"
	ShuffleBytes         = "shuffle_bytes"
	ReduceInputGroups    = "reduce_input_groups"
	ReduceInputRecords   = "reduce_input_records"
	ReduceInputBytes     = "reduce_input_bytes"
	ReduceOutputRecords  = "reduce_output_records"
	OutputRecords        = "output_records"
	OutputBytes          = "output_bytes"
)

// CounterSet makes and keeps the counters of one attempt.
type CounterSet struct {
	mu sync.Mutex
	by map[[2]string]*Counter
}

// Counter returns the counter of that name, which it makes on first use. It panics
// past [MaxCounters].
func (s *CounterSet) Counter(group, name string) *Counter {
	c, err := s.try(group, name)
	if err != nil {
		panic("mapreduce: " + err.Error())
	}
	return c
}

func (s *CounterSet) try(group, name string) (*Counter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{group, name}
	if c := s.by[key]; c != nil {
		return c, nil
	}
	if len(s.by) >= MaxCounters {
		return nil, fmt.Errorf("counter %q.%q is one more than the limit of %d counters", group, name, MaxCounters)
	}
	if s.by == nil {
		s.by = map[[2]string]*Counter{}
	}
	c := &Counter{}
	s.by[key] = c
	return c, nil
}

// Snapshot copies the numbers. Counters never touched are left out.
func (s *CounterSet) Snapshot() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Counts{}
	for k, c := range s.by {
		if n := c.Value(); n != 0 {
			if out[k[0]] == nil {
				out[k[0]] = map[string]int64{}
			}
			out[k[0]][k[1]] = n
		}
	}
	return out
}
