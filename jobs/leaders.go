package jobs

import (
	"bytes"
	"container/heap"

	"github.com/millrace/millrace/mapreduce"
)

// leaders passes on the most frequent strings of those that it is given, each once, with its count. The first k of all reduces together
// are among them, so that the following stage need not sort what cannot win.
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

// counted is a string and how often it came.
type counted struct {
	key []byte
	n   int64
}

// countedBytes is roughly what holding a counted takes beside its key.
const countedBytes = 48

// before orders as the result is: by falling count, then by rising string.
func (c counted) before(o counted) bool {
	return c.n > o.n || c.n == o.n && bytes.Compare(c.key, o.key) < 0
}

func (l *leaders) Reduce(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
	n, err := sum(values)
	if err != nil {
		return err
	}
	c := counted{key: key, n: n}
	if len(key) > l.most { // it is worth no copy; another candidate does no harm
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
		return l.Finish(out) // none of them is out of the race, and those to come start afresh
	}
	return nil
}

// Finish emits what is held.
func (l *leaders) Finish(out mapreduce.Emitter) error {
	for _, c := range l.best {
		emitCount(out, c.key, c.n)
	}
	clear(l.best)
	l.best, l.held = l.best[:0], 0
	return nil
}

// worstFirst is a heap with the least frequent at its top.
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
