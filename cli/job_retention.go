package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/master/history"
)

// historyFlags say how much the master remembers of ended jobs.
type historyFlags struct {
	age   time.Duration
	jobs  int
	bytes jobs.ByteSize
}

func (h *historyFlags) define(f *pflag.FlagSet) {
	d := history.DefaultConfig()
	h.bytes = jobs.ByteSize(d.MaxBytes)
	f.DurationVar(&h.age, "history-age", d.MaxAge, "how long ended jobs stay in the history; 0 for ever")
	f.IntVar(&h.jobs, "history-jobs", d.MaxJobs, "how many jobs the history holds, the oldest go first; 0 for any number")
	f.Var(&h.bytes, "history-bytes", "how many bytes the history may take, roughly; 0 for any number")
}

func (h *historyFlags) set(c *history.Config) {
	c.MaxAge, c.MaxJobs, c.MaxBytes = h.age, h.jobs, int64(h.bytes)
}
