package launch

import (
	"flag"
	"testing"
	"time"

	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
)

// TestFlagsReachTheRun: each flag says what it is called after, and each is in the configuration of the run.
func TestFlagsReachTheRun(t *testing.T) {
	t.Setenv("MILLRACE_MASTER", "m:1")
	t.Setenv("MILLRACE_UMASK", "077")
	for _, x := range []struct {
		words []string
		want  Flags
	}{
		{nil, Flags{Memory: jobs.ByteSize(local.DefaultMemory), Timeout: local.DefaultTaskTimeout, Progress: "auto", Master: "m:1", Umask: "077", Patience: DefaultPatience}},
		{
			[]string{"-memory", "64MiB", "-task-timeout", "5s", "-overwrite", "-json", "-detach", "-local", "-progress", "bar", "-explain", "p.html", "-master", "n:2", "-umask", "027", "-patience", "3s"},
			Flags{64 << 20, 5 * time.Second, true, true, true, true, "bar", "p.html", "n:2", "027", 3 * time.Second},
		},
	} {
		var o Flags
		f := flag.NewFlagSet("x", flag.ContinueOnError)
		o.Define(f, "-", func(v *jobs.ByteSize, name, usage string) { f.Var(v, name, usage) })
		if err := f.Parse(x.words); err != nil || o != x.want {
			t.Errorf("%v: %+v, %v", x.words, o, err)
		}
		var c Config
		o.Apply(&c)
		got := Flags{jobs.ByteSize(c.Local.Memory), c.Local.TaskTimeout, c.Local.Overwrite, c.JSON, c.Detach, o.Local, c.Progress, c.Explain, o.Master, string(c.Client.Umask), c.Patience}
		if got != x.want {
			t.Errorf("%v: the run has %+v", x.words, got)
		}
	}
}

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
