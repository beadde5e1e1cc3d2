package master

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestLoad: the last looks are remembered in order, whatever their number, and many queues become few without losing a task.
func TestLoad(t *testing.T) {
	var l loadLog
	for i := range int64(loadKept + 7) {
		l.add(wire.LoadSample{At: i})
		list := l.list()
		if want := max(0, i-loadKept+1); list[0].At != want || list[len(list)-1].At != i || len(list) != int(min(i+1, loadKept)) {
			t.Fatalf("after %d: %d samples from %d to %d", i, len(list), list[0].At, list[len(list)-1].At)
		}
	}
	nodes := []wire.NodeStatus{
		{State: "up", Capacity: wire.Capacity{Containers: 4}, Running: 3},
		{State: "draining", Capacity: wire.Capacity{MapSlots: 2, ReduceSlots: 1}, Running: 1},
		{State: "down", Capacity: wire.Capacity{Containers: 9}, Running: 9},
	}
	var queues []wire.QueueStatus
	for i := range 40 {
		queues = append(queues, wire.QueueStatus{Queue: fmt.Sprintf("q%02d", i), Tasks: i, Pending: 2 * i, Running: 1, Waiting: 3, Succeeded: 5})
	}
	s := loadNow(3*time.Second, nodes, queues)
	if s.At != 3000 || s.Nodes != 3 || s.Up != 2 || s.Room != 7 || s.Used != 4 {
		t.Errorf("%+v", s)
	}
	tasks, pending, jobs, waiting := 0, 0, 0, 0
	for _, q := range s.Queues {
		tasks, pending, jobs, waiting = tasks+q.Tasks, pending+q.Pending, jobs+q.Jobs, waiting+q.Waiting
	}
	if pending != 2*tasks || waiting != 3*jobs {
		t.Errorf("%d tasks are left and %d jobs wait: %+v", pending, waiting, s.Queues)
	}
	if len(s.Queues) != loadQueues || s.Queues[0].Queue != "q39" || s.Queues[loadQueues-1].Queue != "" || tasks != 39*40/2 || jobs != 40 {
		t.Errorf("%d queues with %d tasks of %d jobs: %+v", len(s.Queues), tasks, jobs, s.Queues)
	}
	if s := loadNow(0, nil, []wire.QueueStatus{{Queue: "default", Succeeded: 3}}); len(s.Queues) != 0 {
		t.Errorf("an idle queue is told: %+v", s.Queues)
	}
	for _, q := range []wire.QueueStatus{{Tasks: 1}, {Pending: 1}, {Running: 1}, {Waiting: 1}} {
		if s := loadNow(0, nil, []wire.QueueStatus{q}); len(s.Queues) != 1 {
			t.Errorf("a queue with something to do is not told: %+v", q)
		}
	}
	// Queues that fit are told as they are, in their order.
	if s := loadNow(0, nil, queues[1:loadQueues+1]); len(s.Queues) != loadQueues || s.Queues[0].Queue != "q01" {
		t.Errorf("%+v", s.Queues)
	}
}

// TestWhenTheLoadIsLookedAt: at once, and then every two seconds.
func TestWhenTheLoadIsLookedAt(t *testing.T) {
	m := &Master{jobs: newCore(t)}
	for _, x := range []struct {
		at   time.Duration
		want int
	}{{time.Second, 1}, {time.Second + 1, 1}, {time.Second + loadEvery - 1, 1}, {time.Second + loadEvery, 2}, {time.Second + loadEvery + 1, 2}, {time.Minute, 3}} {
		m.sample(x.at)
		list := m.load.list()
		if len(list) != x.want {
			t.Errorf("after %v there are %d looks, want %d", x.at, len(list), x.want)
		}
	}
}
