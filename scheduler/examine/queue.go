package examine

import (
	"container/heap"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

type whatNext uint8

const (
	nextSubmit whatNext = iota
	nextHeartbeat
	nextEnd // of an attempt
	nextReady
	nextReturn // of a node
	nextTick   // only time passes
)

// A happening is something that will happen in the small world.
type happening struct {
	at   time.Duration
	seq  int // breaks ties by order of making
	what whatNext
	job  scheduler.JobID
	node topology.NodeID
	task scheduler.TaskID
	try  int
}

// agenda is a heap of happenings.
type agenda struct {
	all []happening
	seq int
}

func (a *agenda) Len() int { return len(a.all) }
func (a *agenda) Less(i, j int) bool {
	x, y := &a.all[i], &a.all[j]
	return x.at < y.at || x.at == y.at && x.seq < y.seq
}
func (a *agenda) Swap(i, j int) { a.all[i], a.all[j] = a.all[j], a.all[i] }
func (a *agenda) Push(x any)    { a.all = append(a.all, x.(happening)) }
func (a *agenda) Pop() any {
	last := a.all[len(a.all)-1]
	a.all = a.all[:len(a.all)-1]
	return last
}

func (a *agenda) add(h happening) {
	h.seq = a.seq
	a.seq++
	heap.Push(a, h)
}

func (a *agenda) next() happening { return heap.Pop(a).(happening) }
