package streaming

import (
	"bytes"
	"slices"

	"github.com/millrace/millrace/mapreduce"
)

// combineBytes is how much mapper output is collected for one run of the combiner, and the size of the list of its
// pairs. Each is at most 1/combineShare of the largest record, itself a part of the budget. Larger: fewer processes,
// better combining, more memory beside the sort.
const (
	combineBytes = 8 << 20
	combineShare = 8
)

// combiner collects pairs, sorts them and runs a command over them, once for each most bytes. A command cannot be
// called key by key like a combiner in Go, so it works before the sort and spill of the engine, not during them.
type combiner struct {
	task    *mapreduce.Task
	command string
	most    int
	data    []byte
	pairs   []span
	proc    *process
}

func newCombiner(t *mapreduce.Task, command string) *combiner {
	return &combiner{task: t, command: command, most: min(combineBytes, maxLine(t)/combineShare)}
}

// span is a pair in data: key, then value.
type span struct{ key, value, end uint32 }

const spanBytes = 12

// add collects a pair. A pair that is too large by itself is passed on uncombined, since no correct result depends
// on combining.
func (c *combiner) add(key, value []byte, out mapreduce.Emitter) error {
	if len(key)+len(value) > c.most {
		out.Emit(key, value)
		return nil
	}
	if len(c.data)+len(key)+len(value) > c.most || len(c.pairs) >= c.most/spanBytes {
		if err := c.flush(out); err != nil {
			return err
		}
	}
	if c.data == nil {
		c.data = make([]byte, 0, c.most) // at once: growing would leave as much garbage
	}
	s := span{key: uint32(len(c.data))}
	c.data = append(c.data, key...)
	s.value = uint32(len(c.data))
	c.data = append(c.data, value...)
	s.end = uint32(len(c.data))
	c.pairs = append(c.pairs, s)
	return nil
}

// flush runs the command over the collected pairs and emits what it prints.
func (c *combiner) flush(out mapreduce.Emitter) (err error) {
	if len(c.pairs) == 0 {
		return nil
	}
	slices.SortStableFunc(c.pairs, func(a, b span) int {
		return bytes.Compare(c.data[a.key:a.value], c.data[b.key:b.value])
	})
	if c.proc, err = start(c.task, "combiner", c.command); err != nil {
		return err
	}
	var printed int64
	take := func(lines batch) error {
		printed += emitPairs(lines, out)
		return failureOf(out)
	}
	if err := c.send(take); err != nil {
		return err
	}
	if err := c.proc.finish(take); err != nil {
		return err
	}
	c.task.Counter(mapreduce.TaskGroup, mapreduce.CombineInputRecords).Add(int64(len(c.pairs)))
	c.task.Counter(mapreduce.TaskGroup, mapreduce.CombineOutputRecords).Add(printed)
	c.data, c.pairs = c.data[:0], c.pairs[:0]
	return nil
}

// send passes the sorted pairs to the command.
func (c *combiner) send(take func(batch) error) error {
	for _, s := range c.pairs {
		if err := c.proc.writePair(c.data[s.key:s.value], c.data[s.value:s.end], take); err != nil {
			return err
		}
	}
	return nil
}

// emitPairs emits lines split at their first tab, and counts them.
func emitPairs(lines batch, out mapreduce.Emitter) (n int64) {
	for line := range bytes.Lines(lines) {
		key, value, _ := bytes.Cut(bytes.TrimSuffix(line, newline), tab)
		out.Emit(key, value)
		n++
	}
	return n
}
