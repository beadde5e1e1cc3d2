package master

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"time"

	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/history"
	"github.com/millrace/millrace/master/tracker"
)

// Config is what a master needs to know. DefaultConfig fills in all but Dir.
type Config struct {
	Dir    string // for the namespace, the journal and the history
	Listen string // address; without security it must be a loopback address

	Jobs tracker.Config
	// Policy and Admission are names of the scheduler's registry, with parameters.
	Policy, Admission             string
	PolicyParams, AdmissionParams map[string]string
	// Placement is the policy for replicas.
	Placement       string
	PlacementParams map[string]string
	// Superuser may do everything with files; default: the user who runs this process. Groups is a file with the groups
	// of users, in the form of /etc/group; empty: no user has groups.
	Superuser, Groups string
	// TakeOver makes the master rule workers that have obeyed a master whose work its directory does not have. It fails
	// when it meets one; TakeOverAbove then says of what epoch that was: start it again with Above set to that.
	TakeOver bool
	Above    uint64
	// Names changes the name service's configuration, if set.
	Names func(c *names.Config)

	// History changes the history's configuration, if set: how much it keeps, and for how long.
	History func(c *history.Config)
	// CompactFrom is how many bytes of records the journal must hold before a snapshot replaces them. Larger: fewer
	// snapshots, longer starts. Default 4 MiB.
	CompactFrom int64

	// KeepDecisions is how many bytes of the decision log are kept on disk, compressed, in addition to those that
	// Jobs.KeepLines keeps in memory. A log that outgrows it begins anew and cannot be replayed. Larger: longer runs
	// can be replayed. Default 256 MiB, some weeks of the smallest clusters.
	KeepDecisions int64

	// Program, if set, describes a built-in program or says what is wrong with it, so that the master can refuse bad
	// submissions at once.
	Program func(p *wire.Program) (Program, error)

	// ScriptHost, if set, makes the command of the process that runs a policy's script. The process calls
	// scripthost.Serve and bounds its own memory. Without ScriptHost the master takes no scripts.
	ScriptHost func() (*exec.Cmd, error)

	// Dashboard, if set, makes the pages that the master shows to browsers. It gets its data by calls of the master's
	// API.
	Dashboard func(call func(ctx context.Context, method string, req, resp any) error) http.Handler

	// LocalPaths says whose jobs may name paths on the workers' own disks. Default auto.
	LocalPaths LocalPaths

	// Queues says who may use each queue; empty: all queues are open to all.
	Queues map[string]Queue

	// Hold is how long a worker's report waits for something to do. A worker that has no news reports at this interval.
	// Default 1 s.
	Hold time.Duration
	// Gone is how long after its connection broke a worker counts as dead, unless it reports again. Default 500 ms.
	Gone time.Duration
	// Gossip is the address for gossip; empty means none.
	Gossip string
	// Key is the cluster's key. Without it only this machine may call, unless Insecure is set.
	Key      *secure.Key
	Insecure bool
	Log      *slog.Logger
	// Listener replaces Listen, for tests.
	Listener net.Listener
}

// DefaultConfig returns the configuration of a small cluster.
func DefaultConfig() Config {
	return Config{
		Listen: "127.0.0.1:7070", Jobs: tracker.DefaultConfig(), Policy: "fair", Admission: "marp", Placement: "rack-aware", LocalPaths: LocalPathsAuto, KeepDecisions: 256 << 20,
		Hold: time.Second, Gone: 500 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	}
}

// checkListen refuses addresses open to other machines, unless there is a key or Insecure is set.
func (c *Config) checkListen() error {
	if c.Key != nil || c.Listener != nil || c.Insecure {
		return nil
	}
	return secure.CheckOpen(c.Listen, c.Gossip)
}
