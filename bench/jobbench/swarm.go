package jobbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker/roster"
)

// swarm makes many workers call one real master. They are the workers' own state machines, each with its own
// connection, but they report tasks as done at once instead of running them.
func (s Setup) swarm(ctx context.Context) (rows []live.Row, err error) {
	addr, pid, stop, err := s.startMaster(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	w := &swarm{addr: addr, tasks: s.SwarmTasks, fail: cancel}
	defer w.wg.Wait()
	defer cancel(nil)
	for i := range s.Swarm {
		w.wg.Go(func() { w.worker(ctx, i) })
	}
	cl, err := client.New(client.Config{Master: addr})
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for {
		nodes, err := cl.Nodes(ctx)
		if err != nil {
			return nil, err
		}
		if len(nodes) == s.Swarm {
			break
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	before, err := live.MemoryOf(pid)
	if err != nil {
		return nil, err
	}
	most := before
	var first time.Time
	_, err = run(ctx, cl, builtin("dfs:/swarm", "sleep"), func(st wire.JobStatus) {
		if first.IsZero() && st.Maps.Total > 0 {
			first = time.Now()
		}
		if m, err := live.MemoryOf(pid); err == nil {
			most = max(most, m)
		}
	})
	if err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	rate := float64(s.SwarmTasks) / time.Since(first).Seconds()
	what := fmt.Sprintf("one job of %d tasks, %d simulated workers, a real master", s.SwarmTasks, s.Swarm)
	return []live.Row{
		live.Row{ID: "swarm", What: what, Value: rate, Unit: "assignments a second", Must: 10_000, Aim: 40_000, AtLeast: true}.Judged(),
		live.Row{ID: "swarm-memory", What: what, Value: float64(most-before) / float64(s.SwarmTasks), Unit: "B of the master's memory a task", Must: 600, Aim: 300}.Judged(),
	}, nil
}

// startMaster starts a master without workers.
func (s Setup) startMaster(ctx context.Context) (addr string, pid int, stop func() error, err error) {
	dir := filepath.Join(s.Dir, "master")
	file := filepath.Join(s.Dir, "addr")
	if err := os.RemoveAll(dir); err != nil {
		return "", 0, nil, err
	}
	cmd := exec.Command(s.Self, "master", "--dir", dir, "--listen", "127.0.0.1:0", "--gossip", "", "--addr-file", file, "--policy", "fifo", "--log-level", "error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", 0, nil, err
	}
	stop = func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		return errors.Join(cmd.Wait(), os.RemoveAll(dir), os.Remove(file))
	}
	for range 500 {
		if b, err := os.ReadFile(file); err == nil {
			return string(b), cmd.Process.Pid, stop, nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return "", 0, nil, errors.Join(err, stop())
		}
	}
	return "", 0, nil, errors.Join(errors.New("the master does not start"), stop())
}

// A swarm is workers that run nothing.
type swarm struct {
	addr  string
	tasks int
	fail  context.CancelCauseFunc
	wg    sync.WaitGroup
}

func (w *swarm) worker(ctx context.Context, i int) {
	name := fmt.Sprintf("w%04d", i)
	c := rpc.NewClient(rpc.ClientConfig{Node: name})
	defer c.Close()
	k := roster.New(roster.Config{
		Node: wire.NodeName(name), Session: "1", Rack: fmt.Sprint("r", i%20), Addr: fmt.Sprintf("10.0.%d.%d:1", i/256, i%256),
		Capacity: wire.Capacity{Containers: 8},
	})
	var ends []wire.Ended
	driven := make(chan wire.Ended, 1) // there is one driver
	for ctx.Err() == nil {
		for _, e := range ends {
			k.Ended(e)
		}
		ends = ends[:0]
		select {
		case e := <-driven:
			k.Ended(e)
		default:
		}
		ans, err := api.WorkerReport.Call(ctx, c, w.addr, *k.Report())
		if err != nil {
			if ctx.Err() == nil && sleep(ctx, 100*time.Millisecond) != nil {
				return
			}
			continue
		}
		for _, l := range k.Answer(&ans).Start {
			if l.ID.Kind == wire.DriverTask {
				w.wg.Go(func() {
					if err := w.drive(ctx, c, l.ID); err != nil {
						w.fail(fmt.Errorf("driver: %w", err))
					}
					driven <- wire.Ended{ID: l.ID, OK: true}
				})
				continue
			}
			ends = append(ends, wire.Ended{ID: l.ID, OK: true, Millis: 1, InBytes: 64 << 20, OutBytes: 1})
		}
	}
}

// drive acts as the job's driver: it plans maps that have their blocks on three workers each, and commits.
func (w *swarm) drive(ctx context.Context, c *rpc.Client, id wire.AttemptID) error {
	plan := &wire.StagePlan{Parts: w.tasks, Name: "swarm", Work: "dfs:/swarm.work"}
	for next := 0; next < w.tasks; {
		part := &wire.PlanPart{First: next, Total: w.tasks}
		for i := next; i < min(next+10_000, w.tasks); i++ {
			part.Splits = append(part.Splits, wire.Split{
				Ranges: []wire.Range{{Path: fmt.Sprintf("dfs:/data/part-%05d", i/16), Offset: int64(i%16) << 26, Length: 64 << 20}},
				Hosts:  []string{fmt.Sprintf("w%04d", i%997), fmt.Sprintf("w%04d", (i+331)%997), fmt.Sprintf("w%04d", (i+662)%997)},
			})
		}
		got, err := api.DriverPlan.Call(ctx, c, w.addr, wire.DriverRequest{ID: id, Part: part})
		if err != nil {
			return err
		}
		next = got.Next
	}
	if _, err := api.DriverPlan.Call(ctx, c, w.addr, wire.DriverRequest{ID: id, Plan: plan}); err != nil {
		return err
	}
	return w.commit(ctx, c, id)
}

// commit waits for the last map and reports that the output has its name.
func (w *swarm) commit(ctx context.Context, c *rpc.Client, id wire.AttemptID) error {
	for {
		step, err := api.DriverStep.Call(ctx, c, w.addr, wire.DriverRequest{ID: id, Wait: 1000})
		if err == nil && step.Do == "commit" {
			_, err = api.DriverCommit.Call(ctx, c, w.addr, wire.DriverRequest{ID: id})
		}
		if err != nil || step.Do == "stop" {
			return err
		}
	}
}
