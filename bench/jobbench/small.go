package jobbench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/wire"
)

var fourWorkers = []string{"--workers", "4", "--racks", "2"}

// tiny runs a job on one kilobyte again and again.
func (s Setup) tiny(ctx context.Context) (rows []live.Row, err error) {
	const jobs = 200
	var took []time.Duration
	err = s.with(ctx, nil, fourWorkers, func(_ *live.Cluster, cl *client.Client) error {
		if err := putText(ctx, cl, "/in", strings.Repeat("seven words of text for the mill\n", 31)); err != nil {
			return err
		}
		for i := range jobs + 20 {
			begin := time.Now()
			_, err := run(ctx, cl, builtin(fmt.Sprint("dfs:/out", i), "wordcount", "--input", "dfs:/in", "--reducers", "1"), nil)
			if err != nil {
				return err
			}
			if i >= 20 { // warm
				took = append(took, time.Since(begin))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(took)
	ms := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	const what = "wordcount of 1 KB on a warm cluster, from submission to the end known"
	return []live.Row{
		live.Row{ID: "tiny", What: what, Value: ms(0.5), Unit: "ms, median", Must: 25, Aim: 10, Note: fmt.Sprintf("%d jobs", jobs)}.Judged(),
		live.Row{ID: "tiny-p95", What: what, Value: ms(0.95), Unit: "ms, 95th percentile", Must: 75, Aim: 30}.Judged(),
	}, nil
}

func putText(ctx context.Context, cl *client.Client, path, text string) error {
	w, err := cl.DFS().Create(ctx, path, dfs.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

// cold starts a cluster and runs a job on it, by commands as a user would.
func (s Setup) cold(ctx context.Context) ([]live.Row, error) {
	in := filepath.Join(s.Dir, "cold.txt")
	if err := os.WriteFile(in, []byte("one two two\n"), 0o644); err != nil {
		return nil, err
	}
	best := time.Duration(1 << 62)
	for i := range s.Rounds {
		begin := time.Now()
		c, err := live.Up(ctx, s.Self, filepath.Join(s.Dir, "cluster"), nil, "--workers", "5")
		if err != nil {
			return nil, err
		}
		_, _, err = live.Timed(ctx, s.Self, "run", "wordcount", "--master", c.Master, "--input", in, "--output", filepath.Join(s.Dir, fmt.Sprint("cold", i)))
		best = min(best, time.Since(begin))
		if derr := c.Down(); err != nil || derr != nil {
			return nil, fmt.Errorf("%w, %w", err, derr)
		}
	}
	return []live.Row{live.Row{
		ID: "cold", What: "a master and 5 workers from nothing to the first finished job, as commands", Value: best.Seconds(), Unit: "s", Must: 2, Aim: 1,
	}.Judged()}, nil
}

// tasks runs maps that do nothing, in the workers' processes and in processes of their own.
func (s Setup) tasks(ctx context.Context) (rows []live.Row, err error) {
	err = s.with(ctx, nil, fourWorkers, func(c *live.Cluster, cl *client.Client) error {
		one := func(row live.Row, maps int, spec func(out string, args ...string) (wire.JobSpec, error)) error {
			best := time.Duration(1 << 62)
			for i := range s.Rounds {
				j, err := spec(fmt.Sprintf("dfs:/%s%d", row.ID, i), "--maps", strconv.Itoa(maps), "--reduces", "1", "--map-time", "0s", "--reduce-time", "0s")
				if err != nil {
					return err
				}
				begin := time.Now()
				if _, err := run(ctx, cl, j, nil); err != nil {
					return err
				}
				best = min(best, time.Since(begin))
			}
			row.Value, row.Unit = float64(best.Microseconds())/1000/float64(maps), "ms a task"
			rows = append(rows, row.Judged())
			return nil
		}
		err := one(live.Row{ID: "tasks", What: fmt.Sprintf("%d maps that do nothing, in the workers' processes", s.Tasks), Must: 0.5, Aim: 0.1}, s.Tasks,
			func(out string, args ...string) (wire.JobSpec, error) { return builtin(out, "sleep", args...), nil })
		if err != nil {
			return err
		}
		maps := max(s.Tasks/10, 1)
		name, note, first := s.program(ctx)
		return one(live.Row{ID: "processes", What: fmt.Sprintf("%d maps that do nothing, each a process of a shipped program", maps), Must: 6, Aim: 3, Note: note}, maps,
			func(out string, args ...string) (wire.JobSpec, error) {
				return s.shipped(ctx, cl, name, out, slices.Concat(first, []string{"--output", out}, args))
			})
	})
	return rows, err
}

// ChildCommand is the hidden command under which this program runs as a shipped one.
const ChildCommand = "bench-child"

// program returns what a user would ship: bench/noop, built now or, without Go or its source, this program as its own
// child, which is four times as large and as slow to start.
func (s Setup) program(ctx context.Context) (name, note string, args []string) {
	name = filepath.Join(s.Dir, "noop")
	build := exec.CommandContext(ctx, "go", "build", "-o", name, "github.com/millrace/millrace/bench/noop")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		return s.Self, "the program is the millrace command itself: bench/noop cannot be built here; run bench in a checkout of millrace, with Go installed, for that row", []string{ChildCommand}
	}
	return name, "the program is bench/noop", nil
}

// shipped returns a sleep job in a program of its own.
func (s Setup) shipped(ctx context.Context, cl *client.Client, name, out string, args []string) (wire.JobSpec, error) {
	path, hash, err := cl.Ship(ctx, name)
	return wire.JobSpec{Output: out, Overwrite: true, Program: wire.Program{Exe: path, Hash: hash, Args: args}}, err
}

// idle measures a cluster that has nothing to do.
func (s Setup) idle(ctx context.Context) (rows []live.Row, err error) {
	const watch = 15 * time.Second
	err = s.with(ctx, nil, fourWorkers, func(c *live.Cluster, cl *client.Client) error {
		if err := sleep(ctx, 3*time.Second); err != nil { // let it settle
			return err
		}
		used, err := c.Spent(func() error { return sleep(ctx, watch) })
		if err != nil {
			return err
		}
		most := int64(0)
		for _, pid := range c.PIDs() {
			m, err := live.MemoryOf(pid)
			if err != nil {
				return err
			}
			most = max(most, m)
		}
		n := float64(len(c.PIDs()))
		rows = append(
			rows,
			live.Row{ID: "idle", What: "processor time of each of 5 idle processes", Value: 100 * used.Seconds() / watch.Seconds() / n, Unit: "% of a core", Must: 0.5, Aim: 0.1}.Judged(),
			live.Row{ID: "idle-memory", What: "memory of the largest of them", Value: float64(most) / 1e6, Unit: "MB", Must: 40, Aim: 25}.Judged(),
		)
		return nil
	})
	return rows, err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
