package scheduler

import "time"

// taskSet holds the tasks of one kind of one job: five bytes each.
type taskSet struct {
	state []TaskState
	// ref is the newest attempt of a running task, the node of a finished one.
	ref     []int32
	next    int32 // no task below it is pending
	pending int32
	running int32 // tasks, not attempts
	done    int32

	samples  int32         // finished attempts whose length is known
	sum, max time.Duration // their lengths
	work     time.Duration // their lengths without waiting for maps
	spent    time.Duration // slot time of every ended attempt, failed ones too

	attempts int32         // running now
	startSum time.Duration // sum of their launch times
	head     int32         // first running attempt, or -1
}

func newTaskSet(n int32) taskSet {
	return taskSet{state: make([]TaskState, n), ref: make([]int32, n), pending: n, head: -1}
}

func (t *taskSet) total() int32 { return int32(len(t.state)) }

func (t *taskSet) has(i int32) bool { return i >= 0 && int(i) < len(t.state) }

// first returns the lowest pending task, or -1.
func (t *taskSet) first() int32 {
	if t.pending == 0 {
		return -1
	}
	for t.state[t.next] != TaskPending {
		t.next++
	}
	return t.next
}

// requeue makes task i pending again.
func (t *taskSet) requeue(i int32) {
	t.state[i] = TaskPending
	t.pending++
	t.next = min(t.next, i)
}

// An attempt is one running try of a task. Attempts live in one table of
// State, chained per node, per job and kind, and per task.
type attempt struct {
	Attempt
	demand             Demand
	sibling            int32 // another attempt of the same task, or -1
	prevNode, nextNode int32
	prevJob, nextJob   int32
}

// attemptTable recycles attempts, so that a steady cluster allocates nothing.
type attemptTable struct {
	all  []attempt
	free int32 // first free, chained by sibling; -1 when none
}

func (t *attemptTable) take() int32 {
	if t.free < 0 {
		t.all = append(t.all, attempt{})
		return int32(len(t.all) - 1)
	}
	i := t.free
	t.free = t.all[i].sibling
	return i
}

func (t *attemptTable) give(i int32) {
	t.all[i] = attempt{sibling: t.free}
	t.free = i
}
