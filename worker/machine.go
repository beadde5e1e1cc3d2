package worker

import (
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/task"
)

// A machine is the one that this worker emulates. Its attempts are paced. It is as busy as they would make it
// if each computed on a processor of its own, whatever else the real machine does.
type machine struct {
	pace task.Pace

	mu         sync.Mutex // guards the fields below
	processors int
	computing  int           // number of attempts
	busy       time.Duration // of all processors, since the last call of idle
	noted      time.Time     // busy counts up to here
	asked      time.Time
}

// newMachine returns a machine of a given speed, or nil if none is emulated.
func newMachine(speed float64, c wire.Capacity, now time.Time) *machine {
	if speed == 0 {
		return nil
	}
	m := &machine{processors: int(c.VCores), noted: now, asked: now}
	if m.processors == 0 {
		m.processors = c.Places()
	}
	m.pace = task.Pace{Speed: speed, Note: func(change int) { m.note(time.Now(), change) }}
	return m
}

// paceOf returns the pace of attempts on a machine.
func (m *machine) paceOf() *task.Pace {
	if m == nil {
		return nil
	}
	return &m.pace
}

func (m *machine) note(now time.Time, change int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(now)
	m.computing += change
}

// count brings busy up to now.
func (m *machine) count(now time.Time) {
	m.busy += time.Duration(min(m.computing, m.processors)) * now.Sub(m.noted)
	m.noted = now
}

// idle is as [Config.Idle].
func (m *machine) idle(now time.Time) (percent float64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(now)
	all := time.Duration(m.processors) * now.Sub(m.asked)
	if all <= 0 {
		return 0, false
	}
	percent = 100 * (1 - float64(m.busy)/float64(all))
	m.busy, m.asked = 0, now
	return min(max(percent, 0), 100), true
}
