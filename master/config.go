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
	// Superuser may do everything with files; default: who runs this process. Groups is a file with the groups of users, in
	// the form of /etc/group; empty means that nobody has any.
	Superuser, Groups string
	// Names changes the name service's configuration, if set.
	Names func(c *names.Config)

	// History changes the history's configuration, if set: how much is remembered, and for how long.
	History func(c *history.Config)
	// CompactFrom is how many bytes of records there must be before a snapshot is written in their place. Larger:
	// fewer snapshots, longer starts. Default 4 MiB.
	CompactFrom int64

	// KeepDecisions is how many bytes of the decision log are kept on disk, compressed, behind those that Jobs.KeepLines keeps
	// in memory. A log that outgrows it begins anew, and is not replayed. Larger: logs of longer runs are. Default 256 MiB: on
	// the smallest of clusters some weeks.
	KeepDecisions int64

	// Program, if set, describes a built-in program, or says what is wrong with it, so that bad submissions are refused
	// at once.
	Program func(p *wire.Program) (Program, error)

	// ScriptHost, if set, makes the command of the process in which a policy's script runs; it calls scripthost.Serve and bounds its
	// own memory. Without it the master takes no scripts.
	ScriptHost func() (*exec.Cmd, error)

	// Dashboard, if set, makes the pages that the master shows to browsers out of calls of its API.
	Dashboard func(call func(ctx context.Context, method string, req, resp any) error) http.Handler

	// LocalPaths says whose jobs may name paths on the workers' own disks. Default auto.
	LocalPaths LocalPaths

	// Queues says who may use which; empty means that all are open to all.
	Queues map[string]Queue

	// Hold is how long a worker's report waits for something to do; it is also how often a
	// worker that has nothing to say reports. Default 1 s.
	Hold time.Duration
	// Gone is how long after its connection broke a worker counts as dead, if it does not
	// report again. Default 500 ms.
	Gone time.Duration
	// Gossip is the address for gossip; empty means none.
	Gossip string
	// Key is the cluster's; without it only this machine may call, unless Insecure says otherwise.
	Key      *secure.Key
	Insecure bool
	Log      *slog.Logger
	// Listener replaces Listen, for tests.
	Listener net.Listener
}

// DefaultConfig is a master for a small cluster.
func DefaultConfig() Config {
	return Config{
		Listen: "127.0.0.1:7070", Jobs: tracker.DefaultConfig(), Policy: "fair", Admission: "marp", Placement: "rack-aware", LocalPaths: LocalPathsAuto, KeepDecisions: 256 << 20,
		Hold: time.Second, Gone: 500 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	}
}

// checkListen refuses to stand open to the world.
func (c *Config) checkListen() error {
	if c.Key != nil || c.Listener != nil || c.Insecure {
		return nil
	}
	return secure.CheckOpen(c.Listen, c.Gossip)
}
