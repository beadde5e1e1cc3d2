package scheduler

import "time"

// Tick does the periodic work of policy and admission that is due at now and
// returns when the next is due; ok is false if neither wants any. The first call
// finds everything due. Call Admit afterwards: a tick may let a job start.
func (g *Engine) Tick(now time.Duration) (next time.Duration, ok bool) {
	for i, who := range [...]any{g.admission, g.policy} {
		t, is := who.(Ticker)
		if !is {
			continue
		}
		if now >= g.due[i] {
			if every := t.Interval(); every <= 0 {
				continue
			}
			t.Tick(now, &g.state.view)
			every := t.Interval()
			if every <= 0 {
				continue
			}
			g.due[i] = now + every
		}
		if !ok || g.due[i] < next {
			next, ok = g.due[i], true
		}
	}
	return next, ok
}
