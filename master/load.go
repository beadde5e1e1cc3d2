package master

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// The history of load covers the last quarter of an hour: how often a sample is taken, how many are kept, and how many
// queues each sample lists.
const (
	loadEvery  = 2 * time.Second
	loadKept   = 450
	loadQueues = 16
)

// A loadLog keeps samples of how busy the cluster was. Only the loop uses it.
type loadLog struct {
	samples []wire.LoadSample // a ring once it is full
	next    int
	at      time.Duration
}

// sample, called in the loop, takes a sample if one is due.
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

// list returns all samples, oldest first.
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

// largest keeps the queues with the most to do and adds up the others under an empty name.
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

// clusterLoad returns how busy the cluster was lately, and the cluster's time.
func (m *Master) clusterLoad(ctx context.Context, _ rpc.Caller, _ none) (wire.Load, error) {
	return ask(ctx, m, func(now time.Duration) (wire.Load, error) {
		return wire.Load{Now: now.Milliseconds(), Every: loadEvery.Milliseconds(), Samples: m.load.list()}, nil
	})
}
