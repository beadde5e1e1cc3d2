package deadline

import "math"

// horizon is how far ahead, in seconds, bounds are computed. It changes the cost of a decision, never its outcome.
const horizon = 0.1

// block is how many jobs are skipped at once when none of them can win.
const block = 32

// A lineup has the jobs with an eligible task of one kind. bounds[i] is at least
// the score of entries[i] until the time until, unless an event of that job
// changes it, in which case it is set anew.
type lineup struct {
	entries []entry
	bounds  []float64
	tops    []float64 // the largest bound of each block of entries
	until   float64
	where   []int32 // by job slot: index of its entry, or none
	goals   int     // entries with a goal
	last    int32   // the last winner, a good first candidate
}

func (l *lineup) index(j *job) int32 {
	if s := j.Slot(); s < len(l.where) {
		return l.where[s]
	}
	return none
}

func (l *lineup) set(e entry, t float64, relative bool) {
	for len(l.where) <= e.job.Slot() {
		l.where = append(l.where, none)
	}
	i := l.where[e.job.Slot()]
	if i == none {
		i = int32(len(l.entries))
		l.where[e.job.Slot()] = i
		l.entries, l.bounds = append(l.entries, entry{goal: math.Inf(1)}), append(l.bounds, 0)
	}
	l.goals += e.aims() - l.entries[i].aims()
	l.entries[i] = e
	l.bounds[i] = l.entries[i].bound(t, l.until, relative)
	l.top(int(i) / block)
}

func (l *lineup) remove(j *job) {
	i := l.index(j)
	if i == none {
		return
	}
	l.goals -= l.entries[i].aims()
	end := int32(len(l.entries) - 1)
	l.entries[i], l.bounds[i] = l.entries[end], l.bounds[end]
	l.where[l.entries[i].job.Slot()] = i
	l.where[j.Slot()] = none
	l.entries[end] = entry{}
	l.entries, l.bounds = l.entries[:end], l.bounds[:end]
	l.top(int(i) / block)
	l.top(int(end) / block)
}

// top updates the bound of a block.
func (l *lineup) top(b int) {
	for len(l.tops) <= b {
		l.tops = append(l.tops, 0)
	}
	l.tops[b] = math.Inf(-1)
	for _, x := range l.bounds[min(b*block, len(l.bounds)):min((b+1)*block, len(l.bounds))] {
		l.tops[b] = max(l.tops[b], x)
	}
}

// bound returns a number that the score does not exceed between t and until. The deficit is monotonic in between,
// unless the job changes state, a task passes the mean, or the time left reaches its least.
func (e *entry) bound(t, until float64, relative bool) float64 {
	if until <= t || e.goal <= until || e.expires <= until || e.least > 0 && e.end-until < e.least {
		return math.Inf(1)
	}
	return math.Max(e.rank(t, relative).score(), e.rank(until, relative).score())
}

// look computes bounds for the time from t on.
func (l *lineup) look(t float64, relative bool) {
	l.until = t + horizon
	for i := range l.entries {
		l.bounds[i] = l.entries[i].bound(t, l.until, relative)
	}
	for b := range l.tops {
		l.top(b)
	}
}
