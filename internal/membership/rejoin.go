package membership

import (
	"sync"
	"time"
)

// A loss is a member that was given up.
type loss struct {
	addr string
	at   time.Time
}

// forget is how long a lost member is called. It is longer than the two sides of a cut may take to give each other
// up. A member that was away longer calls us, because its seeds are missing.
const forget = 5 * time.Minute

// rejoin calls the addresses that whom returns, at the start and then periodically.
func (l *List) rejoin(whom func() []string) {
	every := l.cfg.Rejoin
	if every == 0 {
		every = 3 * time.Second
	}
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-t.C:
		}
		l.call(whom())
		t.Reset(every)
	}
}

// maxCalls bounds how many are called at once.
const maxCalls = 16

// call exchanges everything with members, all at once, so that one that does not answer does not delay the others.
func (l *List) call(whom []string) {
	var wg sync.WaitGroup
	for _, addr := range whom[:min(len(whom), maxCalls)] {
		wg.Go(func() {
			if _, err := l.ml.Join([]string{addr}); err != nil && l.cfg.Log != nil {
				l.cfg.Log.Debug("gossip: cannot join", "member", addr, "error", err)
			}
		})
	}
	wg.Wait()
}

// missing lists the seeds that are not members. Gossip forgets the dead, and after a long partition nobody would
// call the other side.
func (l *List) missing() (out []string) {
	if l.cfg.Seeds == nil {
		return nil
	}
	known := map[string]bool{l.Addr(): true}
	for _, m := range l.Members() {
		known[m.Gossip] = true
	}
	for _, s := range l.cfg.Seeds() {
		if !known[s] {
			out = append(out, s)
		}
	}
	return out
}

// strayed lists the recently lost members, in any order. A member that was given up during a short cut may not have
// noticed the cut, so it misses nobody. Unless it is called, it stays given up until its turn comes in the exchange
// of everything, half a minute or more later.
func (l *List) strayed() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, lost := range l.lost {
		if time.Since(lost.at) > forget {
			delete(l.lost, name)
			continue
		}
		out = append(out, lost.addr)
	}
	return out
}
