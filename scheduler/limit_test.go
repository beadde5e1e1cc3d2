package scheduler

import "testing"

// TestAtLimit: a user holds at most their limit. A driver, and a reduce while maps wait, leave the last container to a task that ends by
// itself; where that is not there, one goes beyond the limit.
func TestAtLimit(t *testing.T) {
	for _, tc := range []struct {
		name                         string
		limit, drivers, maps, reduce int32 // held; of four maps those that are not held wait
		at                           [NumKinds]bool
	}{
		{"no limit", 0, 2, 2, 2, [NumKinds]bool{}},
		{"nothing held, one allowed", 1, 0, 0, 0, [NumKinds]bool{Driver: true}},
		{"one of two", 2, 1, 0, 0, [NumKinds]bool{Driver: true}},
		{"a driver and a map of two", 2, 1, 1, 0, [NumKinds]bool{Map: true, Reduce: true, Driver: true}},
		{"the last is for a map", 3, 1, 1, 0, [NumKinds]bool{Driver: false}},
		{"the last is for a map, and one reduce runs", 3, 1, 0, 1, [NumKinds]bool{Reduce: true}},
		{"three of three", 3, 1, 1, 1, [NumKinds]bool{Map: true, Reduce: true, Driver: true}},
		{"a map goes beyond a limit that only drivers and reduces hold", 3, 2, 0, 1, [NumKinds]bool{Reduce: true, Driver: true}},
		{"a reduce goes beyond one that only drivers hold", 2, 2, 0, 0, [NumKinds]bool{Driver: true}},
		{"no map waits", 6, 1, 4, 0, [NumKinds]bool{}},
		{"no map waits, and all is held", 5, 1, 4, 0, [NumKinds]bool{Map: true, Reduce: true, Driver: true}},
	} {
		g := newTestEngine(t, 1, 1, Capacity{Containers: 20}, nil)
		for id := range JobID(2) {
			mustSubmit(t, g, &JobSpec{ID: id, User: "ann", Maps: 4 * int32(1-id), Reduces: 3, HasDriver: true, Slowstart: -1})
			if int32(id) < tc.drivers {
				mustFeed(t, g, Launched(TaskID{Job: id, Kind: Driver}, 0, Anywhere, false))
			}
			mustFeed(t, g, JobReady(id, nil))
		}
		hold(t, g, 0, Map, 0, tc.maps)
		hold(t, g, 0, Reduce, 0, tc.reduce)
		mustFeed(t, g, UserLimit("ann", tc.limit))
		j := g.View().Job(0)
		for k := range Kind(NumKinds) {
			if got := j.AtLimit(k); got != tc.at[k] {
				t.Errorf("%s: no place for a %v: %v", tc.name, k, got)
			}
		}
	}
}
