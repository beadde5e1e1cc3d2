package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/worker"
	"github.com/millrace/millrace/worker/attempt"
)

// newLog returns a log that is readable on a terminal and parseable elsewhere.
func newLog(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: must be debug, info, warn or error", level)
	}
	if console.Auto.Choose(os.Stderr) == console.Bar {
		return slog.New(tint.NewTextHandler(os.Stderr, &tint.Options{Level: l, TimeFormat: time.TimeOnly})), nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}

func newMaster() *cobra.Command {
	cfg := master.DefaultConfig()
	var params, admissionParams []string
	var level string
	store := names.DefaultConfig()
	blockSize := jobs.ByteSize(store.BlockSize)
	var addrFile, topo string
	var past historyFlags
	var key keyFlags
	var conf configured
	cmd := &cobra.Command{
		Use:     "master",
		Short:   "Run the master of a cluster: names, jobs, scheduling",
		Example: "  millrace master --dir /var/lib/millrace/master --listen 127.0.0.1:7070",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := conf.load(cmd); err != nil {
				return err
			}
			cfg.Queues = conf.Queues
			if cfg.Jobs.Links, err = readLinks(topo); err != nil {
				return err
			}
			if cfg.PolicyParams, err = parseParams(params); err != nil {
				return err
			}
			if cfg.AdmissionParams, err = parseParams(admissionParams); err != nil {
				return err
			}
			if cfg.Log, err = newLog(level); err != nil {
				return err
			}
			if cfg.Key, err = key.load(); err != nil {
				return failed(err)
			}
			cfg.Names = func(n *names.Config) {
				n.BlockSize, n.Replication = int64(blockSize), store.Replication
				n.DeadAfter, n.LeaseTimeout = store.DeadAfter, store.LeaseTimeout
			}
			cfg.History, cfg.Program, cfg.Dashboard, cfg.ScriptHost = past.set, knownProgram, dashboard, scriptHost
			return runMaster(cmd, cfg, addrFile)
		},
	}
	f := cmd.Flags()
	conf.define(cmd, "master")
	f.StringVar(&topo, "topology", "", "file with the rates of the racks' links and the nodes' cards (docs/operations.md)")
	f.StringVar(&cfg.Dir, "dir", "", "directory for the namespace and the jobs (required)")
	f.BoolVar(&cfg.TakeOver, "take-over", false, "rule workers that have obeyed a master whose work --dir does not have, as after a backup was put back; files made since then are lost")
	f.StringVar(&cfg.Listen, "listen", cfg.Listen, "address to listen on")
	f.StringVar(&cfg.Gossip, "gossip", "127.0.0.1:0", "address to gossip on; empty for none")
	f.StringVar(&cfg.Policy, "policy", cfg.Policy, "scheduling policy (millrace scheduler ls)")
	f.StringArrayVar(&params, "param", nil, "parameter of the policy, as name=value; may be given several times")
	f.StringVar(&cfg.Admission, "admission", cfg.Admission, "admission policy for drivers")
	f.StringArrayVar(&admissionParams, "admission-param", nil, "parameter of the admission policy")
	f.StringVar(&cfg.Placement, "placement", cfg.Placement, "placement policy for replicas")
	f.Var(&blockSize, "block-size", "size of a block")
	past.define(f)
	f.IntVar(&store.Replication, "replication", store.Replication, "copies of a block")
	f.DurationVar(&store.DeadAfter, "dead-after", store.DeadAfter, "how long a worker may be silent before its blocks are copied elsewhere")
	f.DurationVar(&store.LeaseTimeout, "lease-timeout", store.LeaseTimeout, "how long a writer may be silent before its file is closed for it")
	defineJobs(f, &cfg.Jobs)
	key.define(f)
	f.StringVar((*string)(&cfg.LocalPaths), "local-paths", string(cfg.LocalPaths), "whose jobs may name paths on the workers' own disks: none, own (with the rights of the user's account there), admins, or auto (own without a key, none with one)")
	f.BoolVar(&cfg.Insecure, "insecure", false, "accept connections from any host without a key")
	f.StringVar(&cfg.Groups, "groups", "", "file with the groups of users, in the form of /etc/group; it is read again when it changes")
	f.StringVar(&cfg.Superuser, "superuser", "", "user who may do everything with files (default: the current user)")
	f.StringVar(&addrFile, "addr-file", "", "file to write the address to, once the master listens")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// defineJobs adds the flags for how patient and how strict the master is with tasks and workers.
func defineJobs(f *pflag.FlagSet, c *tracker.Config) {
	f.IntVar(&c.Attempts, "attempts", c.Attempts, "how often a task is tried before its job fails")
	f.DurationVar(&c.Silence, "silence", c.Silence, "how long a worker may be silent before its tasks are given to others")
	f.DurationVar(&c.Return, "return", c.Return, "how long to wait for a dead worker before the maps whose output it holds run again, if the job has no other work; otherwise --silence applies")
	f.DurationVar(&c.Grace, "grace", c.Grace, "how long workers have to report after a restart of the master before their work is given away")
	f.IntVar(&c.NodeFailures, "node-failures", c.NodeFailures, "attempts of a job that may fail on a node before the job avoids it")
	f.DurationVar(&c.Avoid, "avoid", c.Avoid, "how long a job avoids a node on which its attempts failed")
	f.IntVar(&c.Deaths, "deaths", c.Deaths, "deaths within --exclude after which a worker gets no work for that long")
	f.DurationVar(&c.Exclude, "exclude", c.Exclude, "how long a worker gets nothing after it died, or was started again, --deaths times")
	f.IntVar(&c.FetchFailures, "fetch-failures", c.FetchFailures, "reduces that must fail to fetch a map's output before the map is run again")
	f.BoolVar(&c.SecondAttempts.Off, "no-speculation", c.SecondAttempts.Off, "start no second attempts of slow tasks")
	f.StringVar(&c.SecondAttempts.By, "speculate-by", c.SecondAttempts.By, "rule of second attempts: late, or lag, that of Hadoop's first versions with its published values")
	f.DurationVar(&c.SecondAttempts.After, "speculate-after", c.SecondAttempts.After, "age below which late calls no attempt slow")
	f.Float64Var(&c.SecondAttempts.Slower, "speculate-slower", c.SecondAttempts.Slower, "how many times as long as its siblings an attempt must be expected to take to get a second one")
	f.Float64Var(&c.SecondAttempts.Share, "speculate-share", c.SecondAttempts.Share, "share of what runs that may be second attempts")
	f.IntVar(&c.MaxTasks, "max-tasks", c.MaxTasks, "most maps, and most reduces, of a job")
	f.IntVar(&c.MaxJobs, "max-jobs", c.MaxJobs, "unfinished jobs that may be in the cluster")
	f.IntVar(&c.KeepEnded, "keep-ended", c.KeepEnded, "ended jobs that the master remembers itself")
	f.Float64Var(&c.Monitor.Threshold, "congestion", c.Monitor.Threshold, "share of a rack's link from which the rack counts as congested")
}

// masterGC is how much garbage a master may have, in per cent of its live memory. Most of that is the namespace, which
// stays: a million files take a fifth less memory than with Go's 100.
const masterGC = 50

func runMaster(cmd *cobra.Command, cfg master.Config, addrFile string) error {
	if cfg.Dir == "" {
		return errors.New("the master has no directory: give --dir")
	}
	warnOpen(cfg.Log, cfg.Key, cfg.Insecure, cfg.Listen)
	debug.SetGCPercent(masterGC)
	followKey(cmd.Context(), cfg.Key, cfg.Log)
	for {
		m, err := master.Start(cfg)
		if err != nil {
			return failed(err)
		}
		if addrFile != "" {
			if err := writeWhole(addrFile, m.Addr()); err != nil {
				return failed(errors.Join(err, m.Close()))
			}
		}
		cfg.Log.Info("master is ready", "address", m.Addr(), "policy", cfg.Policy, "admission", cfg.Admission)
		select {
		case <-cmd.Context().Done():
			cfg.Log.Info("master stops")
		case err = <-m.Failed():
		}
		above, takeOver := m.TakeOverAbove()
		cfg.Listen = m.Addr()
		err = errors.Join(err, m.Close())
		if !takeOver {
			return failed(err)
		}
		cfg.Log.Warn("workers obey a master whose work this directory does not have: taking them over", "above epoch", above)
		cfg.Above = above
	}
}

// followKey watches the file of the cluster's key and takes over its changes: that is how a key is changed
// (docs/operations.md).
func followKey(ctx context.Context, key *secure.Key, log *slog.Logger) {
	if key == nil {
		return
	}
	go key.Follow(ctx, 2*time.Second, func(err error) {
		if err != nil {
			log.Error("the new cluster key cannot be used; the old one stays in use", "error", err)
			return
		}
		log.Info("the cluster's key has changed")
	})
}

// warnOpen warns at each start that a cluster is open to others.
func warnOpen(log *slog.Logger, key *secure.Key, insecure bool, listen string) {
	if key == nil && insecure {
		log.Warn("--insecure: whoever reaches this address can read all files and run programs here", "address", listen)
	}
}

// writeWhole writes a file atomically.
func writeWhole(name, text string) error {
	if err := os.WriteFile(name+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// parseParams reads name=value pairs.
func parseParams(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range list {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("parameter %q: must be name=value", p)
		}
		out[name] = value
	}
	return out, nil
}

func newWorker() *cobra.Command {
	cfg := worker.DefaultConfig()
	var level, name, topo, links string
	var key keyFlags
	var conf configured
	memory, reserve := jobs.ByteSize(cfg.Memory), jobs.ByteSize(cfg.Reserve)
	cmd := &cobra.Command{
		Use:     "worker",
		Short:   "Run a worker of a cluster: blocks, containers, map output",
		Example: "  millrace worker --name w1 --rack r1 --master 127.0.0.1:7070 --dir /var/lib/millrace/w1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := conf.load(cmd); err != nil {
				return err
			}
			if cfg.Emulate, err = emulation(links, topo); err != nil {
				return err
			}
			if cfg.Log, err = newLog(level); err != nil {
				return err
			}
			if cfg.Master, err = client.Address(cfg.Master); err != nil {
				return err
			}
			if cfg.Node, err = nodeName(name, cfg.Dir); err != nil {
				return failed(err)
			}
			cfg.Memory, cfg.Reserve = int64(memory), int64(reserve)
			cfg.Build, cfg.Child = buildJobs, taskWords
			if err := worker.Harden(&cfg); err != nil {
				return failed(err)
			}
			if c := &cfg.Capacity; c.MapSlots+c.ReduceSlots+c.VCores > 0 {
				if cmd.Flags().Changed("containers") {
					return errors.New("--containers goes with neither slots nor vcores: give one kind of capacity")
				}
				c.Containers = 0
			}
			if cfg.Key, err = key.load(); err != nil {
				return failed(err)
			}
			return runWorker(cmd.Context(), cfg)
		},
	}
	f := cmd.Flags()
	conf.define(cmd, "worker")
	f.StringVar(&topo, "topology", "", "file with the rates of links, for --emulate")
	f.StringVar(&links, "emulate", "", "slow transfers down as --topology says; a file that all workers of this machine share")
	f.StringVar(&name, "name", "", "name of this node; it must stay the same across restarts (default: the host's and a few letters, kept in --dir)")
	f.StringVar(&cfg.Rack, "rack", cfg.Rack, "rack this node is in")
	f.StringVar(&cfg.Machine, "class", "", "class of machine, for policies that tell machines apart")
	f.Float64Var(&cfg.Speed, "speed", 0, "emulate a slower machine: part of this machine's speed, above 0 and up to 1; 0 emulates nothing")
	f.StringVar(&cfg.Master, "master", os.Getenv("MILLRACE_MASTER"), "address of the master (default: $MILLRACE_MASTER)")
	f.StringVar(&cfg.Listen, "listen", cfg.Listen, "address to listen on")
	f.StringVar(&cfg.Gossip, "gossip", "127.0.0.1:0", "address to gossip on; empty for none")
	f.StringVar(&cfg.Dir, "dir", "", "directory for scratch files and blocks (required)")
	f.StringArrayVar(&cfg.Data, "data", nil, "directory for blocks; may be given several times (default: below --dir)")
	f.Int32Var(&cfg.Capacity.Containers, "containers", cfg.Capacity.Containers, "attempts that run at once")
	f.Int32Var(&cfg.Capacity.MapSlots, "map-slots", 0, "maps that run at once; with --reduce-slots, instead of --containers")
	f.Int32Var(&cfg.Capacity.ReduceSlots, "reduce-slots", 0, "reduces that run at once")
	f.Int32Var(&cfg.Capacity.VCores, "vcores", 0, "processors to give out; with --container-memory, instead of --containers")
	f.Int64Var(&cfg.Capacity.MemoryMB, "container-memory", 0, "memory to give out to containers, in MiB")
	f.Var(&memory, "memory", "memory of this process; each attempt in a process of its own gets --memory / --containers more")
	f.StringVar(&cfg.Advertise, "advertise", "", "address at which others reach this worker (default: where it listens; on all addresses, the one from which it reaches the master)")
	f.DurationVar(&cfg.TaskTimeout, "task-timeout", cfg.TaskTimeout, "how long an attempt in a process of its own may be silent before the worker stops it")
	f.DurationVar(&cfg.FetchStall, "fetch-stall", cfg.FetchStall, "how long a reduce waits for the next byte of map output before it asks again")
	f.StringVar(&cfg.Isolation, "isolation", cfg.Isolation, "how programs and commands of users are kept apart: user (each attempt as a user of its own; needs root), landlock (as the worker's user, kept from files of the worker and of others), none, or auto: user where it can be, else landlock on a cluster with a key")
	f.Var(&cfg.TaskUsers, "task-user", "user ids that attempts run as, one each")
	f.IntVar(&cfg.TaskProcesses, "task-processes", cfg.TaskProcesses, "processes and threads that an attempt with a user of its own may have")
	f.StringVar(&cfg.TaskCgroup, "task-cgroup", "", "cgroup, where the kernel has version 1, below which attempts get their own, as /millrace (default: none, unless the worker is in the first group)")
	f.Var((*jobs.ByteSize)(&cfg.TaskDisk), "task-disk", "disk that an attempt with a user of its own may take; 0 for its share of what is free")
	f.StringVar(&cfg.TaskNetwork, "task-network", cfg.TaskNetwork, "what an attempt with a user of its own reaches: all that the worker does, cluster (programs: this cluster's daemons; commands: nobody), none (commands only, programs are refused), or auto: cluster where there is a key and the worker is root with CAP_SYS_ADMIN, else all")
	f.DurationVar(&cfg.LogAge, "log-age", cfg.LogAge, "how long the worker keeps the logs of a job after the last line in them; 0 for ever")
	f.Var((*jobs.ByteSize)(&cfg.LogBytes), "log-bytes", "how many bytes logs of attempts may take, the oldest go first; 0 for any number")
	key.define(f)
	f.BoolVar(&cfg.Insecure, "insecure", false, "accept connections from any host without a key")
	f.Var(&reserve, "reserve", "what stays free on each disk")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// nodeName returns the name that a worker was given, or the one that its directory keeps.
func nodeName(given, dir string) (wire.NodeName, error) {
	if given != "" || dir == "" { // without a directory there is no worker
		return wire.NodeName(given), nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	return worker.NameIn(dir, host)
}

// knownProgram tells the master what a built-in program reads.
func knownProgram(p *wire.Program) (master.Program, error) {
	stages, err := buildJobs(p)
	if err != nil || len(stages) == 0 {
		return master.Program{}, err
	}
	known := master.Describe(stages)
	known.Shell = taskWords(p) != nil
	return known, nil
}

// buildJobs makes the jobs of a built-in program.
func buildJobs(p *wire.Program) ([]mapreduce.Job, error) {
	if p.Builtin == "" {
		return nil, errors.New("this worker runs built-in jobs only")
	}
	return jobs.Parse(p.Builtin, p.Args)
}

// taskWords returns the words with which this executable runs an attempt that a worker has ordered. Only jobs that run
// users' commands need a process of their own.
func taskWords(p *wire.Program) []string {
	if b, err := jobs.Find(p.Builtin); err == nil && b.Commands {
		return []string{"task"}
	}
	return nil
}

// newTask returns the command that a worker starts; nobody types it.
func newTask() *cobra.Command {
	return &cobra.Command{
		Use: "task", Short: "Run an attempt that a worker orders on standard input", Example: "  millrace task", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if os.Getenv(attempt.ChildEnv) == "" {
				return errors.New("workers start this command; for a job use millrace run")
			}
			if attempt.ChildOf(buildJobs) != 0 {
				return &failure{}
			}
			return nil
		},
	}
}

func runWorker(ctx context.Context, cfg worker.Config) error {
	warnOpen(cfg.Log, cfg.Key, cfg.Insecure, cfg.Listen)
	w, err := worker.Start(cfg)
	if err != nil {
		return failed(err)
	}
	debug.SetMemoryLimit(w.Budget().Collector())
	followKey(ctx, cfg.Key, cfg.Log)
	cfg.Log.Info("worker has started and waits for its master", "node", cfg.Node, "address", w.Addr(), "master", cfg.Master)
	ready := w.Ready() // before that, another may have its name
	for {
		select {
		case <-ready:
			ready = nil
			cfg.Log.Info("worker is ready", "node", cfg.Node, "rack", cfg.Rack, "address", w.Addr(), "master", cfg.Master)
			continue
		case <-ctx.Done():
			cfg.Log.Info("worker stops", "node", cfg.Node)
		case err = <-w.Failed():
		}
		return failed(errors.Join(err, w.Close()))
	}
}
