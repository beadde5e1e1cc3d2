package formats

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/trace"
)

// Columns of the table task_events of Google's cluster data 2011-2, from 0.
const (
	googleTime, googleJob, googleTask, googleMachine, googleEvent, googleUser = 0, 2, 3, 4, 5, 6
	googlePriority, googleColumns                                             = 8, 13
)

// Kinds of event.
const (
	googleSubmit, googleSchedule, googleEvict, googleLost = 0, 1, 2, 6
)

func isGoogle(head []byte) bool {
	f := bytes.Split(first(head), []byte{','})
	if len(f) != googleColumns {
		return false
	}
	_, err := number("", f[googleTime])
	_, err2 := number("", f[googleEvent])
	return err == nil && err2 == nil
}

// readGoogle makes a map of each task: from SCHEDULE to the event that ends it.
func readGoogle(r *reader) error {
	running := map[[2]int64]trace.PastAttempt{}
	var last time.Duration
	err := r.lines(func(line []byte) error {
		f := bytes.Split(line, []byte{','})
		if len(f) != googleColumns {
			return fmt.Errorf("%d columns, want %d (task_events)", len(f), googleColumns)
		}
		var v [googleColumns]int64
		for _, c := range []int{googleTime, googleJob, googleTask, googleEvent} {
			var err error
			if v[c], err = number(fmt.Sprint("column ", c+1), f[c]); err != nil {
				return err
			}
		}
		if v[googleTime] == math.MaxInt64 {
			return nil // after the end of the log
		}
		at, err := stamp("the time", v[googleTime], time.Microsecond)
		if err != nil {
			return err
		}
		last = max(last, at)
		return r.googleEvent(running, at, v[:], f)
	})
	if err != nil {
		return err
	}
	return r.googleRest(running, last)
}

func (r *reader) googleEvent(running map[[2]int64]trace.PastAttempt, at time.Duration, v []int64, f [][]byte) error {
	key := [2]int64{v[googleJob], v[googleTask]}
	id := string(f[googleJob])
	j, err := r.build.Job(id)
	if err != nil {
		return err
	}
	switch kind := v[googleEvent]; {
	case kind == googleSubmit:
		if j.Submit == trace.Unknown || at < j.Submit {
			j.Submit = at
		}
		j.User = string(f[googleUser])
		if len(f[googlePriority]) > 0 {
			p, err := number("priority", f[googlePriority])
			if err != nil {
				return err
			}
			j.Priority = googleLevel(p)
		}
	case kind == googleSchedule:
		if len(running) >= trace.MaxBuilt {
			return fmt.Errorf("more than %d tasks run at a time", trace.MaxBuilt)
		}
		running[key] = trace.PastAttempt{Kind: "map", Node: string(f[googleMachine]), Start: at}
	case kind >= googleEvict && kind <= googleLost:
		a, ok := running[key]
		if !ok {
			return nil // the task never ran, or began before the log
		}
		delete(running, key)
		a.End = at
		return r.build.Attempt(id, string(f[googleTask]), a)
	}
	return nil // 7 and 8 change what a task asks for
}

// googleRest ends the tasks that still run when the log ends.
func (r *reader) googleRest(running map[[2]int64]trace.PastAttempt, last time.Duration) error {
	inOrder := func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) }
	for _, key := range slices.SortedFunc(maps.Keys(running), inOrder) {
		a := running[key]
		a.End = last
		if err := r.build.Attempt(fmt.Sprint(key[0]), fmt.Sprint(key[1]), a); err != nil {
			return err
		}
	}
	return nil
}

// googleLevel maps 0..11 (free, the middle, production, monitoring) to our five priorities.
func googleLevel(p int64) int {
	switch {
	case p <= 0:
		return -2
	case p == 1:
		return -1
	case p <= 8:
		return 0
	case p == 9:
		return 1
	}
	return 2
}
