package master

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// TestWaitersAreTold: who waits for a job's status hears of its end at once, of progress not more often than a person can read it, and of
// what was held back when it is time. Jobs that nobody looks at are forgotten.
func TestWaitersAreTold(t *testing.T) {
	m := openOn(t, memdisk.New())
	defer m.log.journal.Close()
	m.begin, m.waiting = time.Now().Add(-time.Hour), newWaiting()
	id, err := m.jobs.Submit(0, withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.User = "ann" }))
	if err != nil {
		t.Fatal(err)
	}
	told := func(ch chan struct{}) bool {
		for _, fn := range m.releases {
			fn()
		}
		m.releases = nil
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	m.show(id) // nobody waits
	first := m.attend(id)
	if told(first) {
		t.Error("without news somebody is told")
	}
	m.show(id)
	if !told(first) {
		t.Error("the first news are not told")
	}
	m.statusWaiters[id].told = m.now() + time.Hour // just now, however busy the machine is
	second, gone := m.attend(id), m.attend(id)
	m.leave(id, gone)
	m.show(id)
	if told(second) {
		t.Error("progress is told twice in a moment")
	}
	m.showAll(m.now())
	if told(second) {
		t.Error("what is held back is told too early")
	}
	m.showAll(m.now() + time.Hour + showEvery)
	if !told(second) || told(gone) {
		t.Error("what was held back is not told, or it is to one who has gone")
	}
	third := m.attend(id)
	if err := m.jobs.Kill(m.now(), id, "enough"); err != nil {
		t.Fatal(err)
	}
	m.show(id)
	if !told(third) || len(m.statusWaiters) != 0 {
		t.Errorf("the end is not told at once, or %d jobs are watched that have ended", len(m.statusWaiters))
	}
	m.statusWaiters["job-9"] = &waiters{told: m.now()}
	m.showAll(m.now() + time.Second)
	if len(m.statusWaiters) != 1 {
		t.Error("a job is forgotten at once")
	}
	m.showAll(m.now() + 2*time.Minute)
	if len(m.statusWaiters) != 0 {
		t.Error("a job that nobody looks at is remembered")
	}
}
