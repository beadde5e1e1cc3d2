package sizebased

import (
	"cmp"
	"time"

	"github.com/millrace/millrace/scheduler"
)

type (
	job  = scheduler.Job
	line = scheduler.Order[*job, int64]
)

const kinds = int(scheduler.Driver) // maps and reduces

// place is where a job stands; the side table is indexed by job slot.
type place struct {
	in       bool
	spread   bool  // its size was unknown
	stopping bool  // being restarted: takes nothing until its victims are gone
	queue    int32 // from 0
	pos      int64 // order inside the queue
	maps     int32 // running map attempts, as counted in queues.maps

	since  time.Duration // service from which the limit is counted
	waited time.Duration // slot time of reduces that waited for maps
	seen   time.Duration // when waited was last brought up to date
	idle   int32         // reduces that have waited since then

	restart restart
}

// queues holds K queues, each first come first served, with the jobs that have
// an eligible task, by kind.
type queues struct {
	places []place
	lines  [][kinds]*line // by queue: ordered by pos
	maps   []int32        // by queue: running map attempts of its jobs
	next   int64          // position of the next job to be appended
}

func newQueues(k int) queues {
	q := queues{lines: make([][kinds]*line, k), maps: make([]int32, k)}
	for i := range q.lines {
		for kind := range kinds {
			q.lines[i][kind] = scheduler.NewOrder[*job](cmp.Compare[int64])
		}
	}
	return q
}

// at returns the place of j.
func (q *queues) at(j *job) *place {
	for len(q.places) <= j.Slot() {
		q.places = append(q.places, place{})
	}
	return &q.places[j.Slot()]
}

// move takes j out of its queue and appends it to another.
func (q *queues) move(j *job, to int32) {
	p := q.at(j)
	for k := range kinds {
		q.lines[p.queue][k].Remove(j)
	}
	q.maps[p.queue] -= p.maps
	q.maps[to] += p.maps
	p.queue, p.pos = to, q.next
	q.next++
}

// drop forgets j.
func (q *queues) drop(j *job) {
	p := q.at(j)
	for k := range kinds {
		q.lines[p.queue][k].Remove(j)
	}
	q.maps[p.queue] -= p.maps
	*p = place{}
}

// list puts j in the lines of the kinds for which it has an eligible task, and
// counts its running maps.
func (q *queues) list(j *job, rule *scheduler.ReduceRule) {
	p := q.at(j)
	running := j.Usage().Tasks[scheduler.Map]
	q.maps[p.queue] += running - p.maps
	p.maps = running
	for k := range kinds {
		if l := q.lines[p.queue][k]; p.in && !p.stopping && rule.Eligible(j, scheduler.Kind(k)) {
			l.Set(j, p.pos)
		} else {
			l.Remove(j)
		}
	}
}
