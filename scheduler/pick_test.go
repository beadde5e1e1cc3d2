package scheduler

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/topology"
)

// spec/nas 3: which kind is tried first where containers are shared, and our
// bound over the cluster.
func TestKindOrder(t *testing.T) {
	const share = 0.5
	reduce := func(i int32) TaskID { return TaskID{Job: 1, Kind: Reduce, Index: i} }
	g := newTestEngine(t, 1, 2, Capacity{Containers: 3}, nil)
	order := func(n topology.NodeID, want ...Kind) {
		t.Helper()
		if got := g.View().KindOrder(n, share); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("node %d: %v, want %v", n, got, want)
		}
		if got := g.View().KindOrderAmong(n, share, func(topology.NodeID) bool { return true }); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("node %d among all: %v, want %v", n, got, want)
		}
	}
	order(0, Map, Reduce) // nothing is pending
	mustSubmit(t, g, &JobSpec{ID: 1, Maps: 2, Reduces: 9, Slowstart: -1})
	order(0, Reduce, Map)
	mustFeed(t, g, Launched(reduce(0), 0, Anywhere, false))
	order(0, Reduce, Map) // 1 < ceil(0.5*3)
	mustFeed(t, g, Launched(reduce(1), 0, Anywhere, false))
	order(0, Map, Reduce) // this node has its share
	order(1, Reduce, Map)
	mustFeed(t, g, Launched(reduce(2), 1, Anywhere, false))
	order(1, Map) // 3 of 6 places: the cluster has its share
	mustFeed(t, g, Launched(TaskID{Job: 1}, 0, Anywhere, false))
	mustFeed(t, g, Launched(TaskID{Job: 1, Index: 1}, 1, Anywhere, false))
	order(1, Reduce, Map) // no map is pending
	drivers := newTestEngine(t, 1, 1, Capacity{Containers: 2}, nil)
	mustSubmit(t, drivers, &JobSpec{ID: 1, Maps: 1, Reduces: 1, Slowstart: -1, HasDriver: true})
	mustFeed(t, drivers, Launched(TaskID{Job: 1, Kind: Driver}, 0, Anywhere, false))
	mustFeed(t, drivers, JobReady(1, nil))
	g = drivers
	order(0, Map) // of the place that the driver leaves a reduce would be more than half
	slots := newTestEngine(t, 1, 1, Capacity{MapSlots: 1, ReduceSlots: 1}, nil)
	mustSubmit(t, slots, &JobSpec{ID: 1, Maps: 1, Reduces: 1, Slowstart: -1})
	if got := slots.View().KindOrder(0, share); fmt.Sprint(got) != "[map reduce]" {
		t.Errorf("slots do not compete: %v", got)
	}
}

func TestPickMapLevels(t *testing.T) {
	g := newTestEngine(t, 2, 2, Capacity{MapSlots: 9}, nil)
	spec := &JobSpec{ID: 1, Maps: 2}
	spec.Splits.Add(1, 0)
	spec.Splits.Add(1, 3)
	j := mustSubmit(t, g, spec)
	plain := mustSubmit(t, g, &JobSpec{ID: 2, Maps: 1})
	for _, tc := range []struct {
		j     *Job
		n     topology.NodeID
		worst Locality
		want  string
	}{
		{j, 0, NodeLocal, "j1/map/0 node-local true"},
		{j, 1, NodeLocal, "j0/map/0 node-local false"},
		{j, 1, RackLocal, "j1/map/0 rack-local true"},
		{j, 2, Remote, "j1/map/1 rack-local true"},
		{plain, 2, NodeLocal, "j2/map/0 anywhere true"},
	} {
		task, near, ok := g.View().PickMap(tc.j, tc.n, tc.worst)
		if got := fmt.Sprint(task, " ", near, " ", ok); got != tc.want {
			t.Errorf("on node %d no farther than %v: %s, want %s", tc.n, tc.worst, got, tc.want)
		}
	}
	mustFeed(t, g, Launched(TaskID{Job: 1, Index: 1}, 3, NodeLocal, false))
	if _, near, ok := g.View().PickMap(j, 3, Remote); !ok || near != Remote {
		t.Errorf("the last map on the far node is %v (%v)", near, ok)
	}
}
