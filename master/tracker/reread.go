package tracker

import (
	"fmt"
	"math"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// putOut keeps a hash of what a map has written, or of what a reduce has read. The hash stays when the output is lost,
// so that the next output can be compared with it.
func (st *stage) putOut(kind wire.TaskKind, index int32, sum uint64) {
	t := &st.tasks(kind)[index]
	if kind == wire.MapTask {
		was, is := wire.MapOutput{Map: index, Sum: t.sum}, wire.MapOutput{Map: index, Sum: sum}
		st.sum += is.Part() - was.Part()
	}
	t.sum = sum
}

// reread runs reduces again that have read another output of a map than the one that counts now. There are none if the
// map gives the same output each time.
func (c *Tracker) reread(now time.Duration, st *stage, index int32) {
	if st.doneCount[1] == 0 {
		return
	}
	for i := range st.reduces {
		if t := &st.reduces[i]; t.try != 0 && t.sum != st.sum {
			c.forgetResult(now, st, wire.ReduceTask, int32(i), fmt.Sprintf("map %d has run again with another output than this reduce has read", index))
			c.feed(now, scheduler.TaskLost(scheduler.TaskID{Job: st.sid, Index: int32(i), Kind: scheduler.Reduce}))
		}
	}
}

// readOther handles a reduce whose result does not count because it has read output that no longer counts. Only the
// mapper is to blame.
func (c *Tracker) readOther(now time.Duration, st *stage, a *attempt) {
	if a == nil {
		return
	}
	const why = "a map that it has read has run again with another output"
	c.lost(now, a, why)
	t := &st.reduces[a.id.Index]
	t.losses++
	if int(t.losses) >= min(lossFactor*c.attemptsOf(st.job), math.MaxUint8) {
		c.failJob(now, st.job, fmt.Sprintf("reduce %d was run %d times: %s. The mapper must give the same output for the same input", a.id.Index, t.losses, why))
		return
	}
	c.changed(st.job)
	c.offerAll(now)
}
