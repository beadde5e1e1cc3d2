package tracker

import (
	"strings"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// A Leftover is a directory of the block store that a job has left. It is removed with the rights of the job's user, who named the output.
type Leftover struct{ Dir, User string }

// TempDir returns the directory of the block store in which a chain's stages hand over.
func TempDir(id wire.JobID) string { return "/tmp/.millrace/" + string(id) }

// sweep lists what an ended job may have left. Its drivers remove it themselves, but they may be dead. They also make
// the directory of the output before the master has their plan, so a job of which the records say only that it came may
// have left it, too.
func (c *Tracker) sweep(j *job) {
	if j.spec.Stages > 1 {
		c.out.Clean = append(c.out.Clean, Leftover{TempDir(j.id), j.spec.User})
	}
	if j.state != Succeeded {
		c.sweepOutput(j)
	}
}

// sweepOutput lists the hidden directory of an ended job's output. If the job has succeeded, that directory has become
// the output, and a directory that now has the hidden name is a late driver's.
func (c *Tracker) sweepOutput(j *job) {
	if output, inStore := strings.CutPrefix(j.spec.Output, "dfs:"); inStore {
		last := wire.StageRef{Job: j.id, Stage: j.spec.Stages - 1}
		c.out.Clean = append(c.out.Clean, Leftover{mapreduce.WorkDir(output, last.String()), j.spec.User})
	}
}

// runsNoMore handles the end of an attempt that should not have run. If it was a driver of an ended job, it may have
// made the directory of the output again after that was removed.
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
