package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/procs"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/shuffle"
)

func newCluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Start, look at and stop a cluster of processes on this machine",
		Example: `  millrace cluster up --workers 4 --racks 2
  millrace cluster down`,
	}
	cmd.AddCommand(newClusterUp(), newClusterStatus(), newClusterDown(), newKeygen(), newCert(), newRenew(), newRevoke())
	return cmd
}

// clusterFile is what `cluster up` writes for the other commands and for scripts.
type clusterFile struct {
	Master string `json:"master"` // with http:// before it
	daemon
	Workers []clusterWorker `json:"workers"`
}

type clusterWorker struct {
	Name string `json:"name"`
	daemon
	Rack string `json:"rack"`
}

// A daemon is a process that cluster up has started.
type daemon struct {
	PID  int    `json:"pid"`
	Born string `json:"born,omitempty"`
}

// pid returns 0 if the process has ended and another has its number, as after a restart of the machine.
func (d daemon) pid() int {
	if d.Born != "" && procs.Born(d.PID) != d.Born {
		return 0
	}
	return d.PID
}

const defaultClusterDir = ".cluster"

func clusterPath(dir string) string { return filepath.Join(dir, "cluster.json") }

func readCluster(dir string) (clusterFile, error) {
	var c clusterFile
	b, err := os.ReadFile(clusterPath(dir))
	if err != nil {
		return c, fmt.Errorf("no cluster in %s: %w (millrace cluster up --dir %s starts one)", dir, err, dir)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", clusterPath(dir), err)
	}
	return c, nil
}

type upOptions struct {
	dir        string
	workers    int
	racks      int
	port       int
	policy     string
	params     []string
	admission  string
	containers int
	memory     jobs.ByteSize
	timeout    time.Duration
	given      func(flag string) bool // on the command line
	admitting  []string
	topology   string
	config     string
	file       string
	text       []byte            // of the file, or of the one the directory remembers
	described  *describedCluster // the parsed text; nil without one
	key        keyFlags
}

// A plannedWorker is a worker to be started.
type plannedWorker struct {
	name, rack string
	flags      []string
}

func workerName(i int) string { return fmt.Sprintf("w%d", i+1) }
func rackName(i int) string   { return fmt.Sprintf("r%d", i+1) }

// defaultContainers is how many containers cluster up gives a worker.
const defaultContainers = 3

func newClusterUp() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Start a master and workers as processes on this machine",
		Example: "  millrace cluster up --workers 4 --racks 2 --dir .cluster\n  millrace cluster up --file cluster.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd)
		},
	}
	o.define(cmd.Flags())
	return cmd
}

func (o *upOptions) define(f *pflag.FlagSet) {
	o.given = f.Changed
	f.StringVar(&o.dir, "dir", defaultClusterDir, "directory for everything the cluster keeps")
	f.IntVar(&o.workers, "workers", 4, "number of workers")
	f.IntVar(&o.racks, "racks", 1, "number of racks the workers are spread over")
	f.IntVar(&o.port, "port", 0, "port of the master (0: a free one)")
	f.StringVar(&o.policy, "policy", "fair", "scheduling policy (millrace scheduler ls)")
	f.StringArrayVar(&o.params, "param", nil, "parameter of the policy, as name=value")
	f.StringVar(&o.admission, "admission", "marp", "admission policy for drivers")
	f.StringArrayVar(&o.admitting, "admission-param", nil, "parameter of the admission policy, as name=value")
	f.IntVar(&o.containers, "containers", defaultContainers, "attempts that run at once on each worker")
	f.Var(&o.memory, "memory", "memory of each worker (default: "+human.FormatBytes(shuffle.DefaultMemory)+" for all together)")
	f.StringVar(&o.topology, "topology", "", "file with rates of links that this machine is to emulate (docs/operations.md)")
	f.StringVar(&o.config, "config", "", "configuration file of master and workers")
	f.StringVar(&o.file, "file", "", "description of the cluster: classes of machines, racks, links, policies (docs/operations.md)")
	o.key.define(f)
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long to wait for the cluster to be ready")
}

// check refuses a cluster that could not start, or could never run a job.
func (o *upOptions) check() error {
	if err := errors.Join(policies.Check(scheduler.Assignment, o.policy), policies.Check(scheduler.Admitting, o.admission)); err != nil {
		return err
	}
	if o.workers < 1 || o.workers > 1000 || o.racks < 1 {
		return fmt.Errorf("%d workers in %d racks: there must be 1 to 1000 workers and at least one rack", o.workers, o.racks)
	}
	if o.config == "" && o.described == nil && o.workers*o.containers < 2 {
		return fmt.Errorf("%d workers with %d containers each: a job needs two, one for its driver and one for a task", o.workers, o.containers)
	}
	return nil
}

func (o *upOptions) run(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	if err := o.recall(out, cmd.Flags()); err != nil {
		return err
	}
	if err := o.describe(); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return failed(err)
	}
	if err := o.stopped(dir); err != nil {
		return failed(err)
	}
	// Logs contain what users' programs print.
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Join(dir, "logs"), 0o700)); err != nil {
		return failed(err)
	}
	if l, err := readLinks(o.topology); err != nil || l.Optical.Present() && o.racks < 2 {
		return cmp.Or(err, fmt.Errorf("%s: %w", o.topology, errOneRack))
	}
	begin := time.Now()
	c, err := o.start(cmd.Context(), dir)
	if err != nil {
		return failed(errors.Join(err, complaint(dir, begin), stopCluster(dir, c, 5*time.Second)))
	}
	if err := o.remember(cmd.Flags()); err != nil {
		return failed(err)
	}
	o.ready(out, c.Master, time.Since(begin))
	return nil
}

// dying is how long a master that was killed may take to free its memory and end; until then it looks alive.
const dying = time.Second

// stopped returns an error if daemons of an earlier start run in the directory.
func (o *upOptions) stopped(dir string) error {
	old, err := readCluster(dir)
	if err != nil {
		return nil //nolint:nilerr // none has started here
	}
	for end := time.Now().Add(dying); procs.Alive(old.pid()); time.Sleep(10 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		return fmt.Errorf("a cluster runs in %s already, its master is process %d (millrace cluster down --dir %s stops it)", o.dir, old.PID, o.dir)
	}
	for _, w := range old.Workers {
		if pid := disk.Holder(workerLock(dir, w.Name)); pid > 0 {
			return fmt.Errorf("the master of the cluster in %s has ended, and worker %s, process %d, still runs: millrace cluster down --dir %s first", o.dir, w.Name, pid, o.dir)
		}
	}
	return nil
}

// ready prints what to do with a cluster that is ready.
func (o *upOptions) ready(out io.Writer, master string, after time.Duration) {
	fmt.Fprintf(out, `cluster of %s in %s is ready after %.1f s; %s at %s

  export MILLRACE_MASTER=%s%s
  millrace dfs put FILE dfs:/in
  millrace run wordcount --input dfs:/in --output dfs:/out --master %s
  millrace dfs cat dfs:/out/part-r-00000
  millrace cluster down --dir %s
`, human.Many(int64(o.workers), "worker"), human.Many(int64(o.racks), "rack"), after.Seconds(), o.served(), master, master, o.keyLine(), master, human.Printable(o.dir))
}

// served returns what the master's address serves. Browsers have no certificate of a cluster with a key.
func (o *upOptions) served() string {
	if o.key.key == "" {
		return "master and dashboard"
	}
	return "master (millrace dashboard opens the dashboard)"
}

// keyLine returns how the commands that follow get the key, if the cluster has one.
func (o *upOptions) keyLine() string {
	if o.key.key == "" {
		return ""
	}
	name, err := filepath.Abs(o.key.key)
	if err != nil {
		name = o.key.key
	}
	return "\n  export MILLRACE_KEY=" + name
}

// start starts the processes, records who they are, and waits until all have reported.
func (o *upOptions) start(ctx context.Context, dir string) (c clusterFile, err error) {
	addr := filepath.Join(dir, "master.addr")
	_ = os.Remove(addr) // an old file would be taken for the new one
	masters, workers, err := o.plan(dir)
	if err != nil {
		return c, err
	}
	args := append([]string{
		"master", "--dir", filepath.Join(dir, "master"), "--listen", "127.0.0.1:" + strconv.Itoa(o.port), "--addr-file", addr,
	}, masters...)
	var more []string
	for flag, file := range map[string]string{"--topology": o.topology, "--config": o.config, "--key": o.key.key} {
		if file != "" {
			abs, err := filepath.Abs(file)
			if err != nil {
				return c, err
			}
			more = append(more, flag, abs)
		}
	}
	args = append(args, more...)
	if o.topology != "" {
		more = append(more, "--emulate", filepath.Join(dir, "links"))
	}
	if c.daemon, err = spawn(dir, "master", args...); err != nil {
		return c, err
	}
	if c.Master, err = o.waitAddr(ctx, addr, c.PID, dir); err != nil {
		return c, err
	}
	for _, p := range workers {
		w := clusterWorker{Name: p.name, Rack: p.rack}
		w.daemon, err = spawn(dir, w.Name, slices.Concat([]string{
			"worker", "--name", w.Name, "--rack", w.Rack, "--master", c.Master,
			"--dir", filepath.Join(dir, w.Name),
		}, p.flags, more)...)
		if err != nil {
			return c, err
		}
		c.Workers = append(c.Workers, w)
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = os.WriteFile(clusterPath(dir), append(b, '\n'), 0o644)
	}
	if err != nil {
		return c, err
	}
	return c, o.waitReady(ctx, c, dir)
}

// spawn starts a process of this program that outlives it and logs to a file.
func spawn(dir, name string, args ...string) (daemon, error) {
	exe, err := os.Executable()
	if err != nil {
		return daemon{}, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "logs", name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return daemon{}, err
	}
	defer log.Close()
	p := exec.Command(exe, args...)
	p.Stdout, p.Stderr = log, log
	procs.Detach(p)
	if err := p.Start(); err != nil {
		return daemon{}, fmt.Errorf("start %s: %w", name, err)
	}
	d := daemon{p.Process.Pid, procs.Born(p.Process.Pid)}
	return d, p.Process.Release()
}

// waitAddr waits until the master has written its address.
func (o *upOptions) waitAddr(ctx context.Context, file string, pid int, dir string) (string, error) {
	var addr string
	err := o.poll(ctx, func() (bool, error) {
		b, err := os.ReadFile(file)
		if err == nil {
			addr = "http://" + string(b)
			return true, nil
		}
		if procs.Ended(pid) {
			return false, fmt.Errorf("the master ended at once; its log is %s", filepath.Join(dir, "logs", "master.log"))
		}
		return false, nil
	})
	return addr, err
}

func (o *upOptions) waitReady(ctx context.Context, c clusterFile, dir string) error {
	cl, err := o.key.client(client.Config{Master: c.Master})
	if err != nil {
		return err
	}
	defer cl.Close()
	var mode wire.SafeMode
	err = o.poll(ctx, func() (bool, error) {
		for _, w := range c.Workers {
			if procs.Ended(w.PID) {
				return false, fmt.Errorf("worker %s ended at once; its log is %s", w.Name, filepath.Join(dir, "logs", w.Name+".log"))
			}
		}
		jobs, err := cl.Nodes(ctx)
		if err != nil {
			return false, err
		}
		stores, err := cl.DFS().Nodes(ctx)
		if err != nil {
			return false, err
		}
		mode, err = cl.DFS().SafeMode(ctx, "")
		return len(jobs) == len(c.Workers) && len(stores) == len(c.Workers) && !mode.On, err
	})
	if gone := absent(dir, c.Workers); err != nil && mode.On && len(gone) > 0 {
		return fmt.Errorf("%w: %s; %s had blocks here and does not belong to this cluster: start as many workers as before (--workers, --file)", err, mode.Why, strings.Join(gone, ", "))
	}
	return err
}

func (o *upOptions) poll(ctx context.Context, ready func() (bool, error)) error {
	for end := time.Now().Add(o.timeout); ; {
		ok, err := ready()
		if ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("the cluster is not ready after %s", o.timeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
