package streaming

import (
	"bytes"
	"slices"

	"github.com/millrace/millrace/mapreduce"
)

// combineBytes is how much mapper output is gathered for one run of the combiner, and as much again where its pairs are, and combineShare which
// part of the largest record, itself a part of the budget, at most. Larger: fewer processes, better combining, more memory beside the sort.
const (
	combineBytes = 8 << 20
	combineShare = 8
)

// combiner gathers pairs, sorts them and runs a command over them, once for each
// most bytes. A command cannot be called key by key as a combiner in Go is, so it
// works before the sort and spill of the engine, not in them.
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

// add gathers a pair. One that alone is more than is gathered goes on as it is: combining is never needed for a right result.
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
		c.data = make([]byte, 0, c.most) // once: growing would leave as much again behind
	}
	s := span{key: uint32(len(c.data))}
	c.data = append(c.data, key...)
	s.value = uint32(len(c.data))
	c.data = append(c.data, value...)
	s.end = uint32(len(c.data))
	c.pairs = append(c.pairs, s)
	return nil
}

// flush runs the command over what was gathered and emits what it prints.
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

// send hands the sorted pairs to the command.
func (c *combiner) send(take func(batch) error) error {
	for _, s := range c.pairs {
		if err := c.proc.writePair(c.data[s.key:s.value], c.data[s.value:s.end], take); err != nil {
			return err
		}
	}
	return nil
}

// emitPairs emits lines divided at their first tab, and counts them.
func emitPairs(lines batch, out mapreduce.Emitter) (n int64) {
	for line := range bytes.Lines(lines) {
		key, value, _ := bytes.Cut(bytes.TrimSuffix(line, newline), tab)
		out.Emit(key, value)
		n++
	}
	return n
}
