package trace

import (
	"cmp"
	"slices"
	"time"
)

// A PastDescription is what the attempts of a history tell. Quantiles are over jobs or attempts, of times in seconds.
type PastDescription struct {
	Maps, Reduces, Attempts, Lost int64
	Machines, Users, Queues       int
	// Held is the total time of all attempts, Peak the most at one time, and Mean their average number until the last
	// ended.
	Held time.Duration
	Peak int
	Mean float64

	TasksQ, AttemptQ, WaitQ, JobQ Quantiles
}

// Describe returns nil for a history without attempts.
func (h *History) Describe() *PastDescription {
	if len(h.Attempts) == 0 || len(h.Jobs) == 0 {
		return nil
	}
	d := &PastDescription{Attempts: int64(len(h.Attempts))}
	users, queues, machines := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var tasks, waits, lasted []float64
	for i := range h.Jobs {
		j := &h.Jobs[i]
		d.Maps, d.Reduces = d.Maps+int64(j.Maps), d.Reduces+int64(j.Reduces)
		users[j.User], queues[j.Queue] = true, true
		tasks = append(tasks, float64(j.Maps)+float64(j.Reduces))
		waits, lasted = j.spent(waits, lasted)
	}
	took := make([]float64, len(h.Attempts))
	end := time.Duration(1)
	for i := range h.Attempts {
		a := &h.Attempts[i]
		machines[a.Node] = true
		if a.Lost {
			d.Lost++
		}
		took[i], end = (a.End - a.Start).Seconds(), max(end, a.End)
	}
	for _, names := range []map[string]bool{users, queues, machines} {
		delete(names, "")
	}
	d.Users, d.Queues, d.Machines = len(users), len(queues), len(machines)
	d.Peak, d.Held = Held(h.Attempts)
	d.Mean = d.Held.Seconds() / end.Seconds()
	d.TasksQ, d.AttemptQ = quantiles(tasks), quantiles(took)
	if len(waits) > 0 {
		d.WaitQ = quantiles(waits)
	}
	if len(lasted) > 0 {
		d.JobQ = quantiles(lasted)
	}
	return d
}

// spent appends how long a job waited and lasted, if that is known.
func (j *PastJob) spent(waits, lasted []float64) ([]float64, []float64) {
	if j.End == 0 || j.State == JobRejected {
		return waits, lasted
	}
	if j.Start >= j.Submit { // else it ended before a task of it began
		waits = append(waits, (j.Start - j.Submit).Seconds())
	}
	return waits, append(lasted, (j.End - j.Submit).Seconds())
}

// Held returns the most attempts at one time, and the total time of all of them.
func Held(attempts []PastAttempt) (most int, took time.Duration) {
	type edge struct {
		at time.Duration
		by int
	}
	edges := make([]edge, 0, 2*len(attempts))
	for _, a := range attempts {
		edges = append(edges, edge{a.Start, 1}, edge{a.End, -1})
		took += a.End - a.Start
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	now := 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	if most == 0 && len(attempts) > 0 {
		most = 1 // attempts of no length
	}
	return most, took
}
