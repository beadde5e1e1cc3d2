package task

import (
	"bytes"
	"fmt"

	"github.com/millrace/millrace/internal/pages"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// grouped divides a sorted stream into groups of keys that compare equal.
type grouped struct {
	in       shuffle.Run
	same     func(a, b []byte) bool
	first    []byte // the group's first key
	state    groupState
	onward   bool // in is at the first pair of the following group
	unique   bool // each key comes once, as after a fold: no key is compared or copied
	bytewise bool // keys were divided by all their bytes, so those of a group should have the same
	err      error
}

type groupState uint8

const (
	atFirst groupState = iota // in is at a pair that Next has not returned yet
	inside
	ended
)

var _ mapreduce.Values = (*grouped)(nil)

func newGrouped(in shuffle.Run, job *mapreduce.Job, reducers int) *grouped {
	g := &grouped{in: in, same: bytes.Equal, state: ended, unique: !job.Fold.IsZero() && job.Group == nil}
	if order, _ := job.Equality(); order != nil {
		g.same = func(a, b []byte) bool { return order.Of(a, b) == 0 }
		_, hash := job.Partition.(mapreduce.HashPartition)
		g.bytewise = hash && reducers > 1
	}
	return g
}

// nextGroup skips the rest of the group and moves to the next one.
func (g *grouped) nextGroup() bool {
	for g.Next() { // values that the reducer left unread
		continue
	}
	if g.err != nil || !g.onward && !g.in.Next() {
		if !g.unique {
			pages.Drop(g.first)
		}
		g.first = nil
		return false
	}
	g.onward = false
	if g.unique {
		g.first = g.in.Key()
	} else {
		key := g.in.Key()
		g.first = append(pages.Spare(g.first, len(key)), key...)
	}
	g.state = atFirst
	return true
}

// Next moves to the next value of the group.
func (g *grouped) Next() bool {
	switch g.state {
	case atFirst:
		g.state = inside
		return true
	case ended:
		return false
	}
	if g.unique || !g.in.Next() {
		g.state = ended
		return false
	}
	if !g.same(g.first, g.in.Key()) {
		g.state, g.onward = ended, true
		return false
	}
	if g.bytewise && !bytes.Equal(g.first, g.in.Key()) {
		g.err = fmt.Errorf("keys %.64q and %.64q are equal by the order or the group of the job, but HashPartition divides keys by their bytes: %w",
			g.first, g.in.Key(), shuffle.ErrApart)
		g.state = ended
		return false
	}
	return true
}

// Key returns the key of the current value.
func (g *grouped) Key() []byte { return g.in.Key() }

// Value returns the current value.
func (g *grouped) Value() []byte { return g.in.Value() }
