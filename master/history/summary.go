package history

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/internal/wire"
)

const (
	slowest   = 10  // tasks in a summary
	maxFailed = 100 // failed attempts in a summary
)

// Summary returns a job's history in one page.
func (s *Store) Summary(id wire.JobID) (*wire.PastSummary, error) {
	j, err := s.Job(id)
	if err != nil {
		return nil, err
	}
	return guarded(s, func() (*wire.PastSummary, error) { return s.summaryOf(j) })
}

// A summary is a summary under construction. It keeps only attempts that run or were lost.
type summary struct {
	out    *wire.PastSummary
	began  map[uint64]*wire.PastEvent // by try
	lost   map[uint64]bool            // tries that were given up but may come back
	phases map[phaseKey]*wire.Phase
	tries  int
}

type phaseKey struct {
	stage int
	name  string
}

func newSummary() *summary {
	return &summary{out: &wire.PastSummary{Local: map[string]int{}, Slowest: []wire.PastAttempt{}}, began: map[uint64]*wire.PastEvent{}, lost: map[uint64]bool{}, phases: map[phaseKey]*wire.Phase{}}
}

// phase returns a phase of a stage. It makes one that has not begun if there is none.
func (m *summary) phase(stage int, name string) *wire.Phase {
	k := phaseKey{stage, name}
	if m.phases[k] == nil {
		m.phases[k] = &wire.Phase{Stage: stage, Name: name, Begin: -1}
	}
	return m.phases[k]
}

// between widens a phase to hold the time from begin to end; a negative time is ignored.
func between(p *wire.Phase, begin, end int64) {
	if begin >= 0 && (p.Begin < 0 || begin < p.Begin) {
		p.Begin = begin
	}
	p.End = max(p.End, end)
}

func (m *summary) event(e *wire.PastEvent) {
	switch e.Kind {
	case wire.PastAdmitted:
		between(m.phase(e.Stage, "wait"), -1, e.At)
		between(m.phase(e.Stage, "plan"), e.At, -1)
	case wire.PastPlanned:
		between(m.phase(e.Stage, "plan"), -1, e.At)
	case wire.PastCommitting:
		between(m.phase(e.Stage, "commit"), e.At, -1)
	case wire.PastStageDone:
		between(m.phase(e.Stage, "commit"), -1, e.At)
		between(m.phase(e.Stage+1, "wait"), e.At, -1)
	case wire.PastLaunched:
		m.launched(e)
	case wire.PastDone, wire.PastFailed, wire.PastLost, wire.PastStopped:
		m.ended(e)
	}
}

// launched adds the begin of an attempt. A restarted master reports running attempts again: the first report has the
// true begin.
func (m *summary) launched(e *wire.PastEvent) {
	if m.began[e.Try] != nil {
		return
	}
	m.began[e.Try] = e
	if m.lost[e.Try] {
		return
	}
	m.tries++
	if e.Locality != "" {
		m.out.Local[e.Locality]++
	}
}

// ended adds the end of an attempt. Its launch may be missing, or follow it: both can have been written in the same
// instant.
func (m *summary) ended(e *wire.PastEvent) {
	a := begun(e)
	if l := m.began[e.Try]; l != nil {
		note(&a, l)
		delete(m.began, e.Try)
	}
	note(&a, e)
	if a.Task != wire.DriverTask {
		between(m.phase(e.Stage, string(a.Task)), a.Begin, a.End)
	}
	if e.Kind == wire.PastLost {
		m.lost[e.Try] = true
	}
	switch {
	case e.Kind == wire.PastFailed || e.Kind == wire.PastLost:
		if m.out.Failures++; len(m.out.Failed) < maxFailed {
			m.out.Failed = append(m.out.Failed, a)
		}
	case e.Kind == wire.PastDone && a.Task != wire.DriverTask:
		m.slow(a)
	}
}

// slow keeps the attempts that took longest.
func (m *summary) slow(a wire.PastAttempt) {
	took := func(a wire.PastAttempt) int64 { return a.End - a.Begin }
	list := m.out.Slowest
	i, _ := slices.BinarySearchFunc(list, a, func(x, y wire.PastAttempt) int { return cmp.Compare(took(y), took(x)) })
	if i < slowest {
		list = slices.Insert(list, i, a)
		m.out.Slowest = list[:min(len(list), slowest)]
	}
}

// phasesOf returns the phases that have begun, in order.
func (m *summary) phasesOf(j *wire.PastJob) (out []wire.Phase) {
	order := []string{"wait", "plan", "map", "reduce", "commit"}
	between(m.phase(0, "wait"), j.Submitted, -1)
	for _, p := range m.phases {
		if p.Begin >= 0 && p.Stage < max(1, j.Stages) {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b wire.Phase) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name)))
	})
	return out
}
