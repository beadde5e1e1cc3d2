package nas

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
)

// explainLine says how many sharers are before j's in the order given by at.
func explainLine(at func(scheduler.Kind, int) fair.Line, n int, j *job, k scheduler.Kind) scheduler.Reason {
	r := scheduler.Reason{Code: scheduler.NoRoom, Say: "{job} is next for a {kind} and waits for room; it holds {b} containers", Job: j.ID(), Kind: k, B: int64(j.Held())}
	for i := range n {
		line := at(k, i)
		for in := range line.Len() {
			if line.At(in) != j {
				continue
			}
			if i > 0 {
				r.Code, r.A, r.Group = scheduler.Behind, int64(i), line.Group
				r.Say = "{job} waits: {a} others hold fewer containers than {group}"
				if line.Group == nil {
					r.Say = "{job} waits: {a} jobs hold fewer containers"
				}
			}
			return r
		}
	}
	r.Code, r.Say = scheduler.ForSlowstart, "{kind}s of {job} wait for a first finished map"
	return r
}
