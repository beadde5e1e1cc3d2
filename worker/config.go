package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"time"

	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// Config is what a worker needs to know. DefaultConfig fills in all but Node, Master and Dir.
type Config struct {
	Node    wire.NodeName
	Rack    string
	Machine string
	Master  string // address
	Listen  string
	Dir     string   // for scratch files and, unless Data is given, blocks
	Data    []string // data directories
	// Reserve stays free on each disk, in bytes. Default 256 MiB.
	Reserve  int64
	Capacity wire.Capacity
	// Memory is what attempts in this process share for sorting and merging. Default 512 MiB.
	Memory int64
	// Build makes the jobs of a program that runs in this process.
	Build func(p *wire.Program) ([]mapreduce.Job, error)
	// Blocks changes the block service's configuration, if set.
	Blocks func(c *blocks.Config)
	// Gossip is the address for gossip; empty means none.
	Gossip string
	// Key is the cluster's; without it only this machine may call, unless Insecure says otherwise.
	Key      *secure.Key
	Insecure bool
	// Advertise is the address others reach this worker at, if it is not the one it listens on.
	Advertise string
	Listener  net.Listener // replaces Listen
	Log       *slog.Logger
	// TaskTimeout is how long an attempt in a process of its own may give no sign of life. Default
	// 10 minutes, as Hadoop.
	TaskTimeout time.Duration
	// Pause is how long a worker waits before it calls a master that does not answer again.
	Pause time.Duration
}

// DefaultConfig is a worker that uses this machine's processors.
func DefaultConfig() Config {
	return Config{
		Rack: "default", Listen: "127.0.0.1:0", Reserve: 256 << 20, Memory: 512 << 20, Pause: 100 * time.Millisecond, TaskTimeout: 10 * time.Minute,
		Capacity: wire.Capacity{Containers: int32(max(2, runtime.NumCPU()+1))}, Log: slog.New(slog.DiscardHandler),
	}
}

func (c *Config) validate() error {
	switch {
	case c.Node == "":
		return errors.New("the worker has no name: give --name")
	case c.Master == "":
		return errors.New("the worker knows no master: give --master ADDRESS")
	case c.Dir == "":
		return errors.New("the worker has no directory: give --dir")
	case c.Memory < 16<<20:
		return fmt.Errorf("memory is %d bytes, must be at least 16 MiB", c.Memory)
	case c.Build == nil:
		return errors.New("the worker cannot build jobs")
	case c.Key == nil && c.Listener == nil && !c.Insecure:
		if c.Gossip != "" {
			if err := secure.CheckLoopback(c.Gossip); err != nil {
				return err
			}
		}
		return secure.CheckLoopback(c.Listen)
	}
	return nil
}
