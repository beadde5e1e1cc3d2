package mapreduce

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// MaxCounters is how many different counters a job may have beside the engine's own. Without it, a program that
// makes names from data would fill the memory of whoever collects them.
const MaxCounters = 1000

// MaxCounterName is how many bytes the group or the name of a counter may have. Whoever collects counters keeps them
// for every task.
const MaxCounterName = 128

// A Counter is a number to which an attempt adds. Attempts that do not commit do not count. It is safe for
// concurrent use.
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

// Clone returns a copy that shares nothing with c.
func (c Counts) Clone() Counts {
	out := make(Counts, len(c))
	for group, names := range c {
		out[group] = maps.Clone(names)
	}
	return out
}

// Check returns an error for bad names, and for more than [MaxCounters] counters.
func (c Counts) Check() error {
	for group, names := range c {
		for name := range names {
			if err := checkCounter(group, name); err != nil {
				return err
			}
		}
	}
	if n := c.own(); n > MaxCounters {
		return fmt.Errorf("%d counters: a job may have %d", n, MaxCounters)
	}
	return nil
}

// CheckSum is Check for the counters that c and other have together.
func (c Counts) CheckSum(other Counts) error {
	n := c.own()
	for group, names := range other {
		for name := range names {
			if _, known := c[group][name]; !known && !builtIn(group, name) {
				n++
			}
		}
	}
	if n > MaxCounters {
		return fmt.Errorf("%d different counters: a job may have %d", n, MaxCounters)
	}
	return nil
}

// own returns how many counters are not the engine's.
func (c Counts) own() (n int) {
	for group, names := range c {
		for name := range names {
			if !builtIn(group, name) {
				n++
			}
		}
	}
	return n
}

// checkCounter refuses long names and those that cannot be printed.
func checkCounter(group, name string) error {
	for _, s := range [...]string{group, name} {
		if len(s) > MaxCounterName {
			return fmt.Errorf("the counter %.40q has a name of %d bytes: at most %d", s, len(s), MaxCounterName)
		}
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("the counter %.40q has a name that cannot be printed", s)
		}
	}
	return nil
}

// Get returns one number, or 0 if it was never counted.
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
	ShuffleRecords       = "shuffle_records" // what maps hand to reduces, after combining
	ShuffleBytes         = "shuffle_bytes"   // the same, as stored and sent
	// ShuffleBytes of a cluster's reduces, by where the map ran: on the same node, in the same rack, in another
	// rack.
	ShuffleNodeBytes    = "shuffle_node_bytes"
	ShuffleRackBytes    = "shuffle_rack_bytes"
	ShuffleRemoteBytes  = "shuffle_remote_bytes"
	ReduceWaitMillis    = "reduce_wait_milliseconds" // from the start of a cluster's reduces until each had its input, summed
	ReduceInputGroups   = "reduce_input_groups"
	ReduceInputRecords  = "reduce_input_records"
	ReduceInputBytes    = "reduce_input_bytes"
	ReduceOutputRecords = "reduce_output_records"
	OutputRecords       = "output_records"
	OutputBytes         = "output_bytes"
)

// builtIns are the names above. They are never refused: a program with too many is told of its own.
var builtIns = [...]string{
	MapInputRecords, MapInputBytes, MapOutputRecords, MapOutputBytes, MapSkippedRecords, CombineInputRecords, CombineOutputRecords, Spills,
	SpilledRecords, SpilledBytes, ShuffleRecords, ShuffleBytes, ShuffleNodeBytes, ShuffleRackBytes, ShuffleRemoteBytes, ReduceWaitMillis,
	ReduceInputGroups, ReduceInputRecords, ReduceInputBytes, ReduceOutputRecords, OutputRecords, OutputBytes,
}

func builtIn(group, name string) bool {
	return group == TaskGroup && slices.Contains(builtIns[:], name)
}

// CounterSet makes and keeps the counters of one attempt.
type CounterSet struct {
	mu  sync.Mutex             // guards the fields below; the numbers in counters need none
	by  map[[2]string]*Counter // none is ever removed
	own int                    // how many of them are not the engine's
}

// Counter returns the counter of that name and makes it on first use. It panics past [MaxCounters], and for names
// that are longer than [MaxCounterName] or cannot be printed.
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
	if err := checkCounter(group, name); err != nil {
		return nil, err
	}
	own := !builtIn(group, name)
	if own && s.own >= MaxCounters {
		return nil, fmt.Errorf("counter %q.%q is one more than the limit of %d counters", group, name, MaxCounters)
	}
	if s.by == nil {
		s.by = map[[2]string]*Counter{}
	}
	if own {
		s.own++
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
