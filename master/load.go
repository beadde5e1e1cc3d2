package master

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// How the load of the last quarter of an hour is remembered: how often it is looked at, how many looks are kept, and how many
// queues are told apart in each.
const (
	loadEvery  = 2 * time.Second
	loadKept   = 450
	loadQueues = 16
)

// A loadLog remembers how busy the cluster was. It is the loop's.
type loadLog struct {
	samples []wire.LoadSample // a ring once it is full
	next    int
	at      time.Duration
}

// sample, in the loop, takes a look if it is time.
func (m *Master) sample(now time.Duration) {
	if len(m.load.samples) > 0 && now-m.load.at < loadEvery {
		return
	}
	m.load.add(loadNow(now, m.jobs.Nodes(now), m.jobs.Queues()))
	m.load.at = now
}

func (l *loadLog) add(s wire.LoadSample) {
	if len(l.samples) < loadKept {
		l.samples = append(l.samples, s)
		return
	}
	l.samples[l.next] = s
	l.next = (l.next + 1) % loadKept
}

// list is all samples, the oldest first.
func (l *loadLog) list() []wire.LoadSample {
	return append(slices.Clone(l.samples[l.next:]), l.samples[:l.next]...)
}

func loadNow(now time.Duration, nodes []wire.NodeStatus, queues []wire.QueueStatus) wire.LoadSample {
	s := wire.LoadSample{At: now.Milliseconds(), Nodes: len(nodes)}
	for i := range nodes {
		if n := &nodes[i]; n.State != "down" {
			s.Up++
			s.Room += n.Capacity.Attempts()
			s.Used += n.Running
		}
	}
	var busy []wire.LoadQueue
	for _, q := range queues {
		if q.Tasks+q.Pending+q.Running+q.Waiting > 0 {
			busy = append(busy, wire.LoadQueue{Queue: q.Queue, Tasks: q.Tasks, Pending: q.Pending, Jobs: q.Running, Waiting: q.Waiting})
		}
	}
	s.Queues = largest(busy)
	return s
}

// largest keeps the queues with the most to do and puts the others together, under an empty name.
func largest(all []wire.LoadQueue) []wire.LoadQueue {
	if len(all) <= loadQueues {
		return all
	}
	slices.SortStableFunc(all, func(a, b wire.LoadQueue) int { return cmp.Compare(b.Tasks+b.Pending, a.Tasks+a.Pending) })
	rest := wire.LoadQueue{}
	for _, q := range all[loadQueues-1:] {
		rest.Tasks, rest.Pending, rest.Jobs, rest.Waiting = rest.Tasks+q.Tasks, rest.Pending+q.Pending, rest.Jobs+q.Jobs, rest.Waiting+q.Waiting
	}
	return append(all[:loadQueues-1:loadQueues-1], rest)
}

// clusterLoad tells how busy the cluster was lately, and what time it is in it.
func (m *Master) clusterLoad(ctx context.Context, _ rpc.Caller, _ none) (wire.Load, error) {
	return ask(ctx, m, func(now time.Duration) (wire.Load, error) {
		return wire.Load{Now: now.Milliseconds(), Every: loadEvery.Milliseconds(), Samples: m.load.list()}, nil
	})
}
