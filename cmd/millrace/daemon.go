package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// newLog writes for people on a terminal and for programs elsewhere.
func newLog(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: must be debug, info, warn or error", level)
	}
	if _, err := unix.IoctlGetWinsize(int(os.Stderr.Fd()), unix.TIOCGWINSZ); err == nil {
		return slog.New(tint.NewTextHandler(os.Stderr, &tint.Options{Level: l, TimeFormat: time.TimeOnly})), nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}

func newMaster() *cobra.Command {
	cfg := master.DefaultConfig()
	var params, admissionParams []string
	var level string
	var blockSize jobs.ByteSize
	var replication int
	var addrFile string
	var key keyFlags
	cmd := &cobra.Command{
		Use:     "master",
		Short:   "Run the master of a cluster: names, jobs, scheduling",
		Example: "  millrace master --dir /var/lib/millrace/master --listen 127.0.0.1:7070",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
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
				if blockSize > 0 {
					n.BlockSize = int64(blockSize)
				}
				if replication > 0 {
					n.Replication = replication
				}
			}
			return runMaster(cmd, cfg, addrFile)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Dir, "dir", "", "directory for the namespace and the jobs (required)")
	f.StringVar(&cfg.Listen, "listen", cfg.Listen, "address to listen on")
	f.StringVar(&cfg.Gossip, "gossip", "127.0.0.1:0", "address to gossip on; empty for none")
	f.StringVar(&cfg.Policy, "policy", cfg.Policy, "scheduling policy (millrace scheduler ls)")
	f.StringArrayVar(&params, "param", nil, "parameter of the policy, as name=value; may be given several times")
	f.StringVar(&cfg.Admission, "admission", cfg.Admission, "admission policy for drivers")
	f.StringArrayVar(&admissionParams, "admission-param", nil, "parameter of the admission policy")
	f.StringVar(&cfg.Placement, "placement", cfg.Placement, "placement policy for replicas")
	f.Var(&blockSize, "block-size", "size of a block (default 64MiB)")
	f.IntVar(&replication, "replication", 0, "copies of a block (default 3)")
	key.define(f)
	f.BoolVar(&cfg.Insecure, "insecure", false, "listen to everybody without a key")
	f.StringVar(&addrFile, "addr-file", "", "file to write the address to, once the master listens")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

func runMaster(cmd *cobra.Command, cfg master.Config, addrFile string) error {
	if cfg.Dir == "" {
		return errors.New("the master has no directory: give --dir")
	}
	warnOpen(cfg.Log, cfg.Key, cfg.Insecure, cfg.Listen)
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
	return failed(errors.Join(err, m.Close()))
}

// warnOpen says at each start that a cluster stands open.
func warnOpen(log *slog.Logger, key *secure.Key, insecure bool, listen string) {
	if key == nil && insecure {
		log.Warn("--insecure: whoever reaches this address can read all files and run programs here", "address", listen)
	}
}

// writeWhole writes a file that others see whole or not at all.
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
	var level, name string
	var key keyFlags
	memory, reserve := jobs.ByteSize(cfg.Memory), jobs.ByteSize(cfg.Reserve)
	cmd := &cobra.Command{
		Use:     "worker",
		Short:   "Run a worker of a cluster: blocks, containers, map output",
		Example: "  millrace worker --name w1 --rack r1 --master 127.0.0.1:7070 --dir /var/lib/millrace/w1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cfg.Log, err = newLog(level); err != nil {
				return err
			}
			if cfg.Master, err = client.Address(cfg.Master); err != nil {
				return err
			}
			cfg.Node, cfg.Memory, cfg.Reserve = wire.NodeName(name), int64(memory), int64(reserve)
			cfg.Build = buildJobs
			if cfg.Key, err = key.load(); err != nil {
				return failed(err)
			}
			console.LimitMemory(cfg.Memory)
			return runWorker(cmd.Context(), cfg)
		},
	}
	host, _ := os.Hostname() // empty if unknown: then --name is needed
	f := cmd.Flags()
	f.StringVar(&name, "name", host, "name of this node; it must stay the same across restarts")
	f.StringVar(&cfg.Rack, "rack", cfg.Rack, "rack this node is in")
	f.StringVar(&cfg.Machine, "machine", "", "machine type, for hybrid policies")
	f.StringVar(&cfg.Master, "master", os.Getenv("MILLRACE_MASTER"), "address of the master (default: $MILLRACE_MASTER)")
	f.StringVar(&cfg.Listen, "listen", cfg.Listen, "address to listen on")
	f.StringVar(&cfg.Gossip, "gossip", "127.0.0.1:0", "address to gossip on; empty for none")
	f.StringVar(&cfg.Dir, "dir", "", "directory for scratch files and blocks (required)")
	f.StringArrayVar(&cfg.Data, "data", nil, "directory for blocks; may be given several times (default: below --dir)")
	f.Int32Var(&cfg.Capacity.Containers, "containers", cfg.Capacity.Containers, "attempts that run at once")
	f.Var(&memory, "memory", "memory that attempts share for sorting and merging")
	f.StringVar(&cfg.Advertise, "advertise", "", "address at which others reach this worker (default: where it listens)")
	f.DurationVar(&cfg.TaskTimeout, "task-timeout", cfg.TaskTimeout, "how long an attempt may give no sign of life")
	key.define(f)
	f.BoolVar(&cfg.Insecure, "insecure", false, "listen to everybody without a key")
	f.Var(&reserve, "reserve", "what stays free on each disk")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// buildJobs makes the jobs of a built-in program.
func buildJobs(p *wire.Program) ([]mapreduce.Job, error) {
	if p.Builtin == "" {
		return nil, errors.New("this worker runs built-in jobs only")
	}
	return jobs.Parse(p.Builtin, p.Args)
}

func runWorker(ctx context.Context, cfg worker.Config) error {
	warnOpen(cfg.Log, cfg.Key, cfg.Insecure, cfg.Listen)
	w, err := worker.Start(cfg)
	if err != nil {
		return failed(err)
	}
	cfg.Log.Info("worker is ready", "node", cfg.Node, "rack", cfg.Rack, "address", w.Addr(), "master", cfg.Master)
	select {
	case <-ctx.Done():
		cfg.Log.Info("worker stops", "node", cfg.Node)
	case err = <-w.Failed():
	}
	return failed(errors.Join(err, w.Close()))
}
