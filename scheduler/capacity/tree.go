package capacity

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/millrace/millrace/scheduler"
)

type job = scheduler.Job

const kinds = int(scheduler.Driver) // maps and reduces

// A queue is one node of the tree. The root has no name.
type queue struct {
	Queue
	parent   *queue
	children []*queue
	place    int // order of configuration

	part float64 // absolute guaranteed part of the cluster, 0..1
	most float64 // absolute maximum part
	// slots is capSlots and most maxSlots of spec/capacity 3.3, by kind; -1: none.
	slots, cap [kinds]int32

	used    [kinds]int32 // occupied slots, reserved ones too
	backlog int64        // pending maps
	listed  [kinds]int32 // jobs with an eligible task, of all leaves below

	leaf *leaf // nil for a parent
}

// A tree is the queues by path, and the leaves in order of configuration.
type tree struct {
	root   *queue
	leaves []*queue
	byName map[string]*queue
}

// newTree checks the queues and puts them together.
func newTree(queues []Queue) (*tree, error) {
	if len(queues) == 0 {
		return nil, errors.New("there is no queue")
	}
	t := &tree{root: &queue{part: 1, most: 1, cap: [kinds]int32{-1, -1}}, byName: make(map[string]*queue)}
	for i := range queues {
		if err := t.add(queues[i], i); err != nil {
			return nil, err
		}
	}
	for _, q := range t.byName {
		dot := strings.LastIndexByte(q.Name, '.')
		q.parent = t.root
		if dot >= 0 {
			if q.parent = t.byName[q.Name[:dot]]; q.parent == nil {
				return nil, fmt.Errorf("queue %s has no parent %s", q.Name, q.Name[:dot])
			}
		}
	}
	for i := range queues { // in order of configuration
		q := t.byName[queues[i].Name]
		q.parent.children = append(q.parent.children, q)
	}
	return t, t.divide(t.root)
}

func (t *tree) add(q Queue, place int) error {
	if q.Name == "" || strings.HasPrefix(q.Name, ".") || strings.HasSuffix(q.Name, ".") {
		return fmt.Errorf("%q is no name for a queue", q.Name)
	}
	if t.byName[q.Name] != nil {
		return fmt.Errorf("queue %s is given twice", q.Name)
	}
	if err := q.validate(); err != nil {
		return err
	}
	t.byName[q.Name] = &queue{Queue: q, place: place}
	return nil
}

// divide gives the children of q their parts, and lists the leaves.
func (t *tree) divide(q *queue) error {
	if len(q.children) == 0 {
		q.leaf = newLeaf()
		t.leaves = append(t.leaves, q)
		return nil
	}
	sum := 0.0
	for _, c := range q.children {
		sum += c.Capacity
	}
	if math.Floor(sum+epsilon) != 100 {
		where := "queues"
		if q.Name != "" {
			where = "children of " + q.Name
		}
		return fmt.Errorf("capacities of the %s add up to %g, not 100", where, sum)
	}
	for _, c := range q.children {
		c.part, c.most = q.part*c.Capacity/100, q.most
		if c.MaxCapacity > 0 {
			c.most = q.most * c.MaxCapacity / 100
		}
		if err := t.divide(c); err != nil {
			return err
		}
	}
	return nil
}

// resize recomputes guaranteed and maximum slots for a cluster of this size.
func (t *tree) resize(q *queue, cluster [kinds]int32) {
	for k, n := range cluster {
		q.slots[k], q.cap[k] = CapSlots(q.part, n), -1
		if q.most < 1 {
			q.cap[k] = MaxSlots(q.most, n)
		}
	}
	for _, c := range q.children {
		t.resize(c, cluster)
	}
}

// find returns the leaf in which jobs of queue name run. A policy that assigns
// cannot refuse: jobs of unknown queues run in "default", or else in the first
// leaf. known is false for them.
func (t *tree) find(name string) (leaf *queue, known bool) {
	if q := t.byName[name]; q != nil && q.leaf != nil {
		return q, true
	}
	if q := t.byName["default"]; q != nil && q.leaf != nil {
		return q, false
	}
	return t.leaves[0], false
}
