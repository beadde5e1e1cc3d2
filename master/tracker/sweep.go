package tracker

import (
	"strings"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// A Leftover is a directory of the block store that a job has left. It is removed with the rights of the job's user, who named the output.
type Leftover struct{ Dir, User string }

// TempDir is where the stages of a chain hand over, in the block store.
func TempDir(id wire.JobID) string { return "/tmp/.millrace/" + string(id) }

// sweep lists what an ended job may have left. Its drivers remove it themselves, but they may be dead; and they make the directory of the
// output before the master has their plan, so that a job of which nothing is written down but that it came may have left it, too.
func (c *Tracker) sweep(j *job) {
	if j.spec.Stages > 1 {
		c.out.Clean = append(c.out.Clean, Leftover{TempDir(j.id), j.spec.User})
	}
	if j.state != Succeeded {
		c.sweepOutput(j)
	}
}

// sweepOutput lists the hidden directory of an ended job's output. If the job has succeeded, that directory has become the output, and what has its
// name is a late driver's.
func (c *Tracker) sweepOutput(j *job) {
	if output, inStore := strings.CutPrefix(j.spec.Output, "dfs:"); inStore {
		last := wire.StageRef{Job: j.id, Stage: j.spec.Stages - 1}
		c.out.Clean = append(c.out.Clean, Leftover{mapreduce.WorkDir(output, last.String()), j.spec.User})
	}
}

// runsNoMore hears that an attempt has ended that should not have run. If it was a driver of an ended job, it may have made the directory
// of the output again after it was removed.
func (c *Tracker) runsNoMore(n *node, id wire.AttemptID) {
	delete(n.kill, id)
	if j := c.jobs[id.Job]; id.Kind == wire.DriverTask && j != nil && j.state.Ended() {
		c.sweep(j)
		if j.state == Succeeded && id != j.committed {
			c.sweepOutput(j)
		}
	}
}

// runsNothing is runsNoMore for all attempts of a worker that is gone.
func (c *Tracker) runsNothing(n *node) {
	for id := range n.kill {
		c.runsNoMore(n, id)
	}
}
