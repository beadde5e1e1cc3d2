package jobs

import (
	"bytes"
	"container/heap"

	"github.com/millrace/millrace/mapreduce"
)

// leaders passes on the most frequent of its strings, each once, with its count. Together the reduces pass on the
// overall first k, among others, so that the next stage need not sort strings that cannot be among them.
type leaders struct {
	k    int
	most int // bytes to hold
	held int
	best worstFirst
}

func newLeaders(k int) func(*mapreduce.Task) (mapreduce.Reducer, error) {
	return func(t *mapreduce.Task) (mapreduce.Reducer, error) {
		return &leaders{k: k, most: min(replayMemory, t.MaxRecord/replayShare)}, nil
	}
}

// counted is a string and its count.
type counted struct {
	key []byte
	n   int64
}

// countedBytes is roughly the memory of a counted beside its key.
const countedBytes = 48

// before orders as the result does: by falling count, then by rising string.
func (c counted) before(o counted) bool {
	return c.n > o.n || c.n == o.n && bytes.Compare(c.key, o.key) < 0
}

func (l *leaders) Reduce(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
	n, err := sum(values)
	if err != nil {
		return err
	}
	c := counted{key: key, n: n}
	if len(key) > l.most { // not worth a copy, and another candidate does no harm
		emitCount(out, key, n)
		return nil
	}
	if len(l.best) == l.k {
		if !c.before(l.best[0]) {
			return nil
		}
		l.held -= len(l.best[0].key) + countedBytes
		heap.Pop(&l.best)
	}
	c.key = bytes.Clone(key)
	heap.Push(&l.best, c)
	if l.held += len(key) + countedBytes; l.held > l.most {
		return l.Finish(out) // all of these stay candidates, and later strings start afresh
	}
	return nil
}

// Finish emits the candidates that are held.
func (l *leaders) Finish(out mapreduce.Emitter) error {
	for _, c := range l.best {
		emitCount(out, c.key, c.n)
	}
	clear(l.best)
	l.best, l.held = l.best[:0], 0
	return nil
}

// worstFirst is a heap with the least frequent string at its top.
type worstFirst []counted

func (w worstFirst) Len() int           { return len(w) }
func (w worstFirst) Less(i, j int) bool { return w[j].before(w[i]) }
func (w worstFirst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *worstFirst) Push(x any)        { *w = append(*w, x.(counted)) }

func (w *worstFirst) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	*w = (*w)[:last]
	return x
}
