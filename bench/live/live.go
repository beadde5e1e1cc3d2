// Package live starts clusters of real processes to be measured, and has the rows that report the results.
//
//	c, err := live.Up(ctx, self, dir, "--workers", "4")
//	used, err := c.Spent(work)
//	err = c.Down()
package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/procs"
	"github.com/millrace/millrace/internal/suggest"
)

// A Row is one figure. Value is judged: it must not be above Must or, with AtLeast, below it.
type Row struct {
	ID      string  `json:"id"`
	What    string  `json:"what"`
	Against string  `json:"against,omitempty"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Must    float64 `json:"must"`
	Aim     float64 `json:"aim,omitempty"` // 0: none
	AtLeast bool    `json:"at_least,omitempty"`
	Verdict string  `json:"verdict"` // "aim", "must" or "missed"
	Note    string  `json:"note,omitempty"`
}

// Judged returns the row with its verdict.
func (r Row) Judged() Row {
	meets := func(mark float64) bool { return r.AtLeast && r.Value >= mark || !r.AtLeast && r.Value <= mark }
	switch {
	case r.Aim != 0 && meets(r.Aim):
		r.Verdict = "aim"
	case meets(r.Must):
		r.Verdict = "must"
	default:
		r.Verdict = "missed"
	}
	return r
}

// A Part is one or more rows that are measured together.
type Part struct {
	IDs     []string
	What    string
	Measure func(ctx context.Context) ([]Row, error)
}

// IDs returns the rows of all parts.
func IDs(parts []Part) (out []string) {
	for _, p := range parts {
		out = append(out, p.IDs...)
	}
	return out
}

// Measure runs the parts that have a row in only, or all, in an empty directory, which it removes in the end. It calls
// say before each part.
func Measure(ctx context.Context, dir string, parts []Part, only []string, say func(what string)) (rows []Row, err error) {
	for _, id := range only {
		if !slices.Contains(IDs(parts), id) {
			return nil, suggest.Unknown("row", id, IDs(parts))
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, p := range parts {
		if len(only) > 0 && !slices.ContainsFunc(p.IDs, func(id string) bool { return slices.Contains(only, id) }) {
			continue
		}
		say(p.What)
		got, err := p.Measure(ctx)
		rows = append(rows, got...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", p.What, err)
		}
	}
	return rows, nil
}

// A Cluster is a cluster of processes of this program.
type Cluster struct {
	Self    string `json:"-"` // the program
	dir     string
	Master  string `json:"master"`
	PID     int    `json:"pid"`
	Workers []struct {
		Name string `json:"name"`
		PID  int    `json:"pid"`
	} `json:"workers"`
}

// Up starts a cluster in an empty directory with the flags of `millrace cluster up`. Settings are
// variables for its daemons.
func Up(ctx context.Context, self, dir string, settings []string, flags ...string) (*Cluster, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"cluster", "up", "--dir", dir}, flags...)...)
	cmd.Env = append(os.Environ(), settings...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cluster up: %w: %s", err, out)
	}
	c := &Cluster{Self: self, dir: dir}
	b, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(b, c)
	}
	return c, err
}

// Down stops the cluster, even if the measurement was interrupted, and removes its files.
func (c *Cluster) Down() error {
	if out, err := exec.Command(c.Self, "cluster", "down", "--dir", c.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("cluster down: %w: %s", err, out)
	}
	return os.RemoveAll(c.dir)
}

// With runs fn on a fresh cluster and stops it.
func With(ctx context.Context, self, dir string, settings, flags []string, fn func(c *Cluster, cl *client.Client) error) error {
	c, err := Up(ctx, self, dir, settings, flags...)
	if err != nil {
		return err
	}
	cl, err := c.Client()
	if err != nil {
		return errors.Join(err, c.Down())
	}
	err = fn(c, cl)
	return errors.Join(err, cl.Close(), c.Down())
}

// Kill ends a worker without warning.
func (c *Cluster) Kill(i int) error { return procs.Kill(c.Workers[i].PID) }

// Client returns a client of the cluster.
func (c *Cluster) Client() (*client.Client, error) {
	return client.New(client.Config{Master: c.Master})
}

// PIDs returns the processes, the master first.
func (c *Cluster) PIDs() []int {
	list := []int{c.PID}
	for _, w := range c.Workers {
		list = append(list, w.PID)
	}
	return list
}

// CPU returns the processor time that all processes and their children have used.
func (c *Cluster) CPU() (total time.Duration, err error) {
	for _, pid := range c.PIDs() {
		d, err := CPUOf(pid)
		if err != nil {
			return 0, err
		}
		total += d
	}
	return total, nil
}

// Spent returns how much processor time the processes of the cluster use while work runs.
func (c *Cluster) Spent(work func() error) (time.Duration, error) {
	before, err := c.CPU()
	if err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	after, err := c.CPU()
	return after - before, err
}

// tick is the kernel's unit of processor time.
const tick = 10 * time.Millisecond

// CPUOf returns the processor time of a process and the children it has waited for.
func CPUOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), ") ") // the name may contain anything
	f := strings.Fields(rest)
	if !ok || len(f) < 15 {
		return 0, fmt.Errorf("/proc/%d/stat is not understood", pid)
	}
	var ticks int64
	for _, s := range f[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// MemoryOf returns the memory that a process holds now, in bytes.
func MemoryOf(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm is not understood", pid)
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// Timed runs a command, discards its output, and returns its wall time and processor time.
func Timed(ctx context.Context, args ...string) (wall, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var text strings.Builder
	cmd.Stderr = &text
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // itself, not a pipe to us
	if err != nil {
		return 0, 0, err
	}
	defer null.Close()
	cmd.Stdout = null
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, text.String())
	}
	return time.Since(begin), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
