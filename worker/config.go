package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// Config configures a worker. DefaultConfig fills in all but Node, Master and Dir.
type Config struct {
	Node    wire.NodeName
	Rack    string
	Machine string
	Master  string // address
	Listen  string
	Dir     string   // for scratch files and, unless Data is given, blocks
	Data    []string // data directories
	// Reserve is how many bytes stay free on each disk. Default 256 MiB.
	Reserve  int64
	Capacity wire.Capacity
	// Memory is the memory budget of this process in bytes, which [shuffle.Budget] divides. An attempt in a
	// process of its own gets one container's share. Default 1 GiB, for a worker that has the machine to
	// itself.
	Memory int64
	// Sort, if not 0, limits the part of Memory for sorting and merging, so that attempts spill sooner than
	// they must.
	Sort int64
	// Build makes the jobs of a program that runs in this process.
	Build func(p *wire.Program) ([]mapreduce.Job, error)
	// Blocks changes the block service's configuration, if set.
	Blocks func(c *blocks.Config)
	// Gossip is the address for gossip; empty means no gossip.
	Gossip string
	// Key is the cluster's key. Without it only this machine may call, unless Insecure is set.
	Key      *secure.Key
	Insecure bool
	// Advertise is the address at which others reach this worker, if it is not the one it listens on. If empty for a
	// worker that listens on all, it is the one from which the worker reaches the master.
	Advertise string
	Listener  net.Listener // replaces Listen
	Log       *slog.Logger
	// Emulate, if set, slows down this node's links.
	Emulate *emulate.Setting
	// Speed, if not 0, emulates a slower machine. Its attempts do this fraction (up to 1) of what they would do
	// here. It is as idle as its attempts leave it.
	Speed float64
	// Idle, if set, replaces the kernel's figure for how idle the processors were since the last call, for
	// example on an emulated machine. The worker calls it from one goroutine at a time, about once a second.
	Idle func() (percent float64, ok bool)
	// SmallOutput is the size in bytes up to which map outputs share a file. Larger: fewer files. 0 gives each
	// a file of its own. Default 32 KiB.
	SmallOutput int
	// TaskTimeout is how long an attempt in a process of its own may be silent before the worker stops it. Default
	// 10 minutes, as Hadoop.
	TaskTimeout time.Duration
	// FetchStall is how long a reduce waits for the next byte of map output before it asks again. Larger: slow
	// sources get more time, but dead ones hold up a reduce longer. Default 10 s.
	FetchStall time.Duration
	// Isolation says how users' code is kept apart: auto, none, landlock or user. Default auto.
	Isolation string
	// TaskUsers are the user ids for attempts that get one each. Default 60600-60855, which Linux distributions
	// leave unused.
	TaskUsers UserRange
	// TaskProcesses is how many processes and threads such an attempt may have. Default 512: a Go program
	// on a large machine has some dozens.
	TaskProcesses int
	// TaskCgroup names the cgroup, in hierarchies of version 1, below which the worker makes one for each such
	// attempt. The worker creates it if needed. Empty means the root of each hierarchy in whose root the worker
	// runs, as in a container.
	TaskCgroup string
	// TaskDisk is how many bytes such an attempt may have on disk. 0 means its share of the free space when it
	// starts.
	TaskDisk int64
	// TaskNetwork says what such an attempt can reach: NetworkAuto (the default), NetworkAll, NetworkCluster or
	// NetworkNone.
	TaskNetwork string
	// Child returns the arguments with which this executable runs an attempt of a built-in program in a process
	// of its own; nil for programs that run in this process.
	Child func(p *wire.Program) []string
	// LogAge is how long logs of attempts are kept after the last message of their job, and LogBytes how many bytes
	// in all; the oldest go first. 0 means no limit. Defaults 7 days and 1 GiB.
	LogAge   time.Duration
	LogBytes int64
	// NamePatience is how long a worker keeps asking when another worker has its name. Default 10 s.
	NamePatience time.Duration
	// Pause is how long a worker waits before it calls an unresponsive master again.
	Pause time.Duration

	budget shuffle.Budget // of Memory
}

// MinSpeed is the slowest machine that can be emulated, a hundred times slower than this one.
const MinSpeed = 0.01

// DefaultConfig returns the configuration for this machine's processors.
func DefaultConfig() Config {
	return Config{
		Rack: "default", Listen: "127.0.0.1:0", Reserve: 256 << 20, SmallOutput: 32 << 10, Memory: shuffle.DefaultMemory, Pause: 100 * time.Millisecond, NamePatience: 10 * time.Second, TaskTimeout: 10 * time.Minute, FetchStall: 10 * time.Second, LogAge: 7 * 24 * time.Hour, LogBytes: 1 << 30,
		Isolation: IsolationAuto, TaskUsers: UserRange{First: 60600, Last: 60855}, TaskProcesses: 512, TaskNetwork: NetworkAuto,
		Capacity: wire.Capacity{Containers: int32(runtime.NumCPU() + 1)}, Log: slog.New(slog.DiscardHandler),
	}
}

func (c *Config) validate() error {
	var err error
	if c.budget, err = shuffle.NewBudget(c.Memory, c.Sort); err != nil {
		return fmt.Errorf("memory %w", err)
	}
	switch {
	case c.Node == "":
		return errors.New("the worker has no name: give --name")
	case c.Master == "":
		return errors.New("the worker knows no master: give --master ADDRESS")
	case c.Dir == "":
		return errors.New("the worker has no directory: give --dir")
	case !slices.Contains([]string{IsolationAuto, IsolationNone, IsolationLandlock, IsolationUser}, c.Isolation):
		return fmt.Errorf("isolation is %q, must be %s, %s, %s or %s", c.Isolation, IsolationAuto, IsolationNone, IsolationLandlock, IsolationUser)
	case !slices.Contains([]string{NetworkAuto, NetworkAll, NetworkCluster, NetworkNone}, c.TaskNetwork):
		return fmt.Errorf("task network is %q, must be %s, %s, %s or %s", c.TaskNetwork, NetworkAuto, NetworkAll, NetworkCluster, NetworkNone)
	case c.TaskProcesses < 32:
		return fmt.Errorf("task processes are %d, must be at least 32", c.TaskProcesses)
	case c.Speed != 0 && !(c.Speed >= MinSpeed && c.Speed <= 1):
		return fmt.Errorf("speed is %g, must be %g to 1: a part of this machine's, or 0 for this machine as it is", c.Speed, MinSpeed)
	case c.FetchStall <= 0:
		return fmt.Errorf("fetch stall is %s, must be positive", c.FetchStall)
	case c.TaskDisk < 0:
		return fmt.Errorf("task disk is %d bytes, must not be negative", c.TaskDisk)
	case c.Build == nil:
		return errors.New("the worker cannot build jobs")
	case c.Key == nil && c.Listener == nil && !c.Insecure:
		return secure.CheckOpen(c.Listen, c.Gossip)
	}
	return nil
}
