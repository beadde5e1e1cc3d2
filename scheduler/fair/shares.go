package fair

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

type (
	job   = scheduler.Job
	group = scheduler.Group
	key   = scheduler.FloatKey
)

const kinds = int(scheduler.Driver) // maps and reduces

// Shares keeps jobs, or groups of jobs, in order of what they hold: whoever is
// farthest below its share is first. Each such holder is a Line.
type Shares struct {
	cfg    Config
	byKind bool // count tasks of the same kind only

	groups [kinds]*scheduler.Order[*group, key] // unused with key job
	alone  members                              // with key job
	inside []members                            // by group slot

	clock  int64          // counts launches
	served []int64        // by job slot: clock of its last launch
	gone   []int64        // by group slot: likewise
	order  scheduler.Owed // owed: used at every report, and each new method value would allocate
}

// members orders the jobs of one group, by kind. A decision asks many groups, so what leads to their jobs lies close
// together.
type members [kinds]scheduler.Order[*job, key]

func newMembers() (m members) {
	for k := range m {
		m[k] = *scheduler.NewOrder[*job](scheduler.CompareFloatKeys)
	}
	return m
}

// NewShares returns an order without jobs.
func NewShares(cfg Config) (*Shares, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Shares{cfg: cfg, byKind: cfg.Count == "kind", alone: newMembers()}
	for k := range s.groups {
		s.groups[k] = scheduler.NewOrder[*group](scheduler.CompareFloatKeys)
	}
	s.order = s.owed
	return s, nil
}

// Observe keeps the order true. Call it with every event, before anything else
// is done with it.
func (s *Shares) Observe(_ time.Duration, e scheduler.Event, v *scheduler.View) {
	switch e.Kind {
	case scheduler.EvNodeUp, scheduler.EvNodeUpdated, scheduler.EvNodeDown, scheduler.EvNodeDraining:
		s.observeNode(e, v)
	case scheduler.EvLaunched:
		s.clock++
		if j := v.Job(e.Job); j != nil {
			s.served = set(s.served, j.Slot(), s.clock)
			if g := s.groupOf(j); g != nil {
				s.gone = set(s.gone, g.Slot(), s.clock)
			}
		}
	case scheduler.EvJobSubmitted: // its turn comes after those that wait already
		s.served = set(s.served, v.Job(e.Job).Slot(), s.clock)
	}
	if j := v.Job(e.Job); j != nil {
		s.Touch(j, v)
	}
}

// observeNode reorders everything if the keys depend on the cluster's size, or on its having slots.
func (s *Shares) observeNode(e scheduler.Event, v *scheduler.View) {
	before := s.byKind
	if c := e.Capacity; s.cfg.Count == "auto" && e.Kind == scheduler.EvNodeUp {
		s.byKind = c.Slotted()
	}
	if s.byKind == before && s.cfg.Measure != "dominant" {
		return
	}
	for j := range v.Jobs().All() {
		s.Touch(j, v)
	}
}

func set(table []int64, slot int, to int64) []int64 {
	for len(table) <= slot {
		table = append(table, 0)
	}
	table[slot] = to
	return table
}

// Touch puts j, and its group, where they now belong.
func (s *Shares) Touch(j *job, v *scheduler.View) {
	mine := s.cfg.Only == nil || s.cfg.Only(j)
	g := s.groupOf(j)
	line := &s.alone
	if g != nil {
		for len(s.inside) <= g.Slot() {
			s.inside = append(s.inside, newMembers())
		}
		line = &s.inside[g.Slot()]
	}
	for k := range kinds {
		kind := scheduler.Kind(k)
		if mine && s.cfg.Reduces.Eligible(j, kind) {
			line[k].Set(j, s.jobKey(j, kind, v))
		} else {
			line[k].Remove(j)
		}
		if g == nil {
			continue
		}
		if line[k].Len() > 0 {
			s.groups[k].Set(g, s.groupKey(g, kind, v))
		} else {
			s.groups[k].Remove(g)
		}
	}
}

func (s *Shares) groupOf(j *job) *group {
	switch s.cfg.Key {
	case "user":
		return j.User()
	case "pool":
		return j.Pool()
	case "queue":
		return j.Queue()
	}
	return nil
}

// A Line is one holder of a share with eligible tasks of one kind: a job, or a
// group with its jobs in order. It is valid until the next event.
type Line struct {
	Group *scheduler.Group // nil when the holder is a job
	one   *job
	jobs  *scheduler.Order[*job, key]
}

// Len returns how many jobs the line has.
func (l Line) Len() int {
	if l.one != nil {
		return 1
	}
	return l.jobs.Len()
}

// At returns the i-th job of the line.
func (l Line) At(i int) *scheduler.Job {
	if l.one != nil {
		return l.one
	}
	return l.jobs.At(i)
}

// Slot identifies the line's holder among all lines of one Shares.
func (l Line) Slot() int {
	if l.one != nil {
		return l.one.Slot()
	}
	return l.Group.Slot()
}

// Len returns how many holders have eligible tasks of kind k.
func (s *Shares) Len(k scheduler.Kind) int {
	if s.cfg.Key == "job" {
		return s.alone[k].Len()
	}
	return s.groups[k].Len()
}

// At returns the i-th holder, the one farthest below its share being 0.
func (s *Shares) At(k scheduler.Kind, i int) Line {
	if s.cfg.Key == "job" {
		return Line{one: s.alone[k].At(i)}
	}
	g := s.groups[k].At(i)
	return Line{Group: g, jobs: &s.inside[g.Slot()][k]}
}
