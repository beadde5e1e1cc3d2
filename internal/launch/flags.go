package launch

import (
	"os"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
)

// Flags are the flags of every run, of the command and of users' programs.
type Flags struct {
	Memory          jobs.ByteSize
	Timeout         time.Duration
	Overwrite, JSON bool
	Detach, Local   bool
	Progress        string
	Explain         string
	Master, Umask   string
	Patience        time.Duration
}

// A FlagSet is that of package flag, or of pflag.
type FlagSet interface {
	BoolVar(p *bool, name string, value bool, usage string)
	StringVar(p *string, name, value, usage string)
	DurationVar(p *time.Duration, name string, value time.Duration, usage string)
}

// Define adds the flags. memory adds the first one, whose value has a different type in each kind of set. dash is
// the prefix of flags in texts.
func (o *Flags) Define(f FlagSet, dash string, memory func(v *jobs.ByteSize, name, usage string)) {
	o.Memory = local.DefaultMemory
	memory(&o.Memory, "memory", "memory of this process, records of up to a quarter of it; what the job's own code allocates comes on top")
	f.DurationVar(&o.Timeout, "task-timeout", local.DefaultTaskTimeout, "how long a task's own code may neither read, emit nor count anything before the task fails (0: for ever)")
	f.BoolVar(&o.Overwrite, "overwrite", false, "replace an existing output directory")
	f.BoolVar(&o.JSON, "json", false, "print one JSON object at the end, and no progress")
	f.StringVar(&o.Progress, "progress", "auto", "auto, bar, plain or none")
	f.StringVar(&o.Explain, "explain", "", "write a page that shows, step by step, what becomes of each record (small input, here)")
	f.StringVar(&o.Master, "master", os.Getenv("MILLRACE_MASTER"), "run on the cluster of this master, not here (default: $MILLRACE_MASTER)")
	f.StringVar(&o.Umask, "umask", os.Getenv("MILLRACE_UMASK"), "with "+dash+"master: rights that files and directories of the output do not get, in octal (default: $MILLRACE_UMASK, else 022)")
	f.BoolVar(&o.Local, "local", false, "run here even if MILLRACE_MASTER is set")
	f.BoolVar(&o.Detach, "detach", false, "with "+dash+"master: print the job's id and do not wait for its end (millrace job watch does)")
	f.DurationVar(&o.Patience, "patience", DefaultPatience, "with "+dash+"master: how long to wait for a master that does not answer any more")
}

// Apply copies the flags to a configuration. It leaves the client to the caller, except for the umask, which New
// checks.
func (o *Flags) Apply(c *Config) {
	c.Client.Umask = wire.Umask(o.Umask)
	c.Local.Memory, c.Local.TaskTimeout, c.Local.Overwrite = int64(o.Memory), o.Timeout, o.Overwrite
	if o.Timeout == 0 { // the user wrote 0, which does not mean the default
		c.Local.TaskTimeout = -1
	}
	c.JSON, c.Detach, c.Progress, c.Explain, c.Patience = o.JSON, o.Detach, o.Progress, o.Explain, o.Patience
}

// Cluster returns the master to run on, or "" if the run is to be here.
func (o *Flags) Cluster() string {
	if o.Local {
		return ""
	}
	return o.Master
}
