package master

import (
	"errors"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// room returns why the master's disk has no room for more jobs and files, or nil.
func (m *Master) room() error { return errors.Join(m.log.journal.Room(), m.names.Room()) }

// pause lets jobs wait while there is no room. It runs in the loop.
func (m *Master) pause(now time.Duration) {
	why := ""
	if err := m.room(); err != nil && wire.KindOf(err) == wire.NoSpace {
		why = "the master has no room: " + err.Error()
	}
	m.jobs.Pause(now, why)
}

// failed reports whether a report tells of attempts that have failed.
func failed(r *wire.Report) bool {
	for i := range r.Ended {
		if !r.Ended[i].OK {
			return true
		}
	}
	return false
}
