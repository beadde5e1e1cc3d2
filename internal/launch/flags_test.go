package launch

import (
	"flag"
	"testing"
	"time"

	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
)

// TestFlags: what is not given is the default, a timeout of 0 is none, and -local wins over a master.
func TestFlags(t *testing.T) {
	t.Setenv("MILLRACE_MASTER", "m:1")
	for _, c := range []struct {
		words   []string
		timeout time.Duration
		memory  int64
		master  string
	}{
		{nil, local.DefaultTaskTimeout, local.DefaultMemory, "m:1"},
		{[]string{"-task-timeout", "0", "-memory", "64MiB", "-local"}, -1, 64 << 20, ""},
		{[]string{"-task-timeout", "5s", "-master", "n:2"}, 5 * time.Second, local.DefaultMemory, "n:2"},
	} {
		var o Flags
		f := flag.NewFlagSet("x", flag.ContinueOnError)
		o.Define(f, "-", func(v *jobs.ByteSize, name, usage string) { f.Var(v, name, usage) })
		if err := f.Parse(c.words); err != nil {
			t.Fatal(err)
		}
		var got Config
		o.Apply(&got)
		if got.Local.TaskTimeout != c.timeout || got.Local.Memory != c.memory || o.Cluster() != c.master {
			t.Errorf("%v: timeout %s, memory %d, master %q", c.words, got.Local.TaskTimeout, got.Local.Memory, o.Cluster())
		}
	}
}
