package shuffle

import (
	"bytes"
	"fmt"
)

// Combiner reduces the values of one key of a sorted run before they are written. values is already at the first
// record of the group, and its Next stays within the group. So the loop is
//
//	for ok := true; ok; ok = values.Next() { use(values.Value()) }
//
// and it may stop early. key is the first record's and stays valid for the whole
// call. emit copies, and may be called any number of times, with keys that do not go down and
// that stay in the partition of the group; both are checked. A Combiner may be applied to its own
// output, any number of times, or not at all.
type Combiner func(key []byte, values Run, emit func(key, value []byte) error) error

// sink takes the records of one sorted run, partition by partition.
type sink interface {
	// begin opens a partition, higher than the one before.
	begin(partition int)
	// add copies one record, not below the one before.
	add(key, value []byte) error
}

// combining applies a Combiner to runs on their way to a sink.
type combining struct {
	name      string
	combine   Combiner
	compare   func(a, b []byte) int
	partition func(key, value []byte) int // nil: not checked
	stats     *Stats
}

// writeTo combines a run of one partition into a sink, which has begun it.
func (c *combining) writeTo(in Run, out sink, partition int) error {
	g := &group{in: in, compare: c.compare, stats: c.stats}
	var last []byte
	var lastSet bool
	emit := func(key, value []byte) error {
		if err := c.check(g, key, value, last, lastSet, partition); err != nil {
			return err
		}
		last, lastSet = append(last[:0], key...), true
		c.stats.CombineOut++
		return out.add(key, value)
	}
	for ok := in.Next(); ok; ok = g.more {
		g.enter()
		if err := c.combine(g.key, g, emit); err != nil {
			return fmt.Errorf("%s: combine: %w", c.name, err)
		}
		for g.Next() { // the rest of the group, if the combiner left any
		}
	}
	return in.Err()
}

// check makes sure that an emitted key is in order and in the partition.
func (c *combining) check(g *group, key, value, last []byte, lastSet bool, partition int) error {
	if lastSet && compareWith(c.compare, last, key) > 0 {
		return fmt.Errorf("combiner emitted key %.64q after %.64q", key, last)
	}
	if c.partition == nil || bytes.Equal(key, g.key) {
		return nil
	}
	if p := c.partition(key, value); p != partition {
		return fmt.Errorf("combiner of partition %d emitted key %.64q of partition %d", partition, key, p)
	}
	return nil
}

// compareWith compares by a function or, when it is nil, by bytes.
func compareWith(compare func(a, b []byte) int, x, y []byte) int {
	if compare == nil {
		return bytes.Compare(x, y)
	}
	return compare(x, y)
}

// group is a Run limited to the records with one key.
type group struct {
	in      Run
	compare func(a, b []byte) int
	stats   *Stats
	key     []byte // of the first record
	ended   bool
	more    bool // in is at the first record of another group
}

var _ Run = (*group)(nil)

// enter makes the current record of in the first of the group.
func (g *group) enter() {
	g.key = append(g.key[:0], g.in.Key()...)
	g.ended, g.more = false, false
	g.stats.CombineIn++
}

func (g *group) Next() bool {
	if g.ended {
		return false
	}
	if !g.in.Next() {
		g.ended = true
		return false
	}
	if compareWith(g.compare, g.in.Key(), g.key) != 0 {
		g.ended, g.more = true, true
		return false
	}
	g.stats.CombineIn++
	return true
}

func (g *group) Key() []byte   { return g.in.Key() }
func (g *group) Value() []byte { return g.in.Value() }
func (g *group) Err() error    { return g.in.Err() }

// Close does nothing: the run belongs to the caller of the combiner.
func (g *group) Close() error { return nil }
