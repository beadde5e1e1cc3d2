package jobbench

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/wire"
)

// large compares the processor time of large jobs on the cluster with that of one process.
func (s Setup) large(ctx context.Context) (rows []live.Row, err error) {
	rowsFile, text := filepath.Join(s.Dir, "rows"), filepath.Join(s.Dir, "text")
	for _, gen := range [][]string{{"gen", "tera", "--size", strconv.FormatInt(s.Size, 10), rowsFile}, {"gen", "text", "--size", strconv.FormatInt(s.Size, 10), text}} {
		if _, _, err := live.Timed(ctx, append([]string{s.Self}, gen...)...); err != nil {
			return nil, err
		}
	}
	defer os.Remove(rowsFile)
	defer os.Remove(text)
	// One attempt at a time on each worker: with the driver that is already more than two cores.
	flags := append([]string{"--memory", "256MiB", "--containers", "1"}, fourWorkers...)
	err = s.with(ctx, []string{"MILLRACE_MASTER_REPLICATION=1"}, flags, func(c *live.Cluster, cl *client.Client) error {
		for job, in := range map[string]string{"terasort": rowsFile, "wordcount": text} {
			if _, _, err := live.Timed(ctx, s.Self, "dfs", "--master", c.Master, "put", "--progress", "none", in, "/"+job); err != nil {
				return err
			}
		}
		for _, r := range []live.Row{
			{ID: "terasort", What: "terasort, one copy of each block, processor time of the cluster", Against: "local running, 1 GiB of memory", Must: 1.5, Aim: 1.3},
			{ID: "wordcount", What: "wordcount, processor time of the cluster", Against: "local running, 1 GiB of memory", Must: 1.15, Aim: 1.05},
		} {
			in := map[string]string{"terasort": rowsFile, "wordcount": text}[r.ID]
			if err := s.compare(ctx, c, cl, &r, in); err != nil {
				return err
			}
			rows = append(rows, r.Judged())
		}
		return nil
	})
	return rows, err
}

// largeRounds is how often large jobs take turns: with busy neighbours single ratios differ by a sixth.
const largeRounds = 11

// compare runs a job here and there in turn. The first round only warms up, because first use of memory costs more.
func (s Setup) compare(ctx context.Context, c *live.Cluster, cl *client.Client, r *live.Row, in string) error {
	var cpu, wall live.Duel
	for round := range 1 + largeRounds {
		if round == 1 {
			cpu, wall = live.Duel{}, live.Duel{}
		}
		out := filepath.Join(s.Dir, "local-out")
		alone, aloneCPU, err := live.Timed(ctx, s.Self, "run", r.ID, "--memory", "1GiB", "--input", in, "--output", out, "--overwrite", "--progress", "none")
		if err != nil {
			return err
		}
		begin := time.Now()
		used, err := c.Spent(func() error {
			_, err := run(ctx, cl, builtin("dfs:/"+r.ID+"-out", r.ID, "--input", "dfs:/"+r.ID), nil)
			return err
		})
		took := time.Since(begin)
		if err != nil {
			return err
		}
		cpu.Note(used, aloneCPU)
		wall.Note(took, alone)
	}
	r.Value, r.Unit = cpu.Cost(), "x"
	r.Note = fmt.Sprintf("median of %d rounds; %.1f s against %.1f s of processor; by the clock %.1f s against %.1f s", len(cpu.Ours),
		live.Median(cpu.Ours).Seconds(), live.Median(cpu.Theirs).Seconds(), live.Median(wall.Ours).Seconds(), live.Median(wall.Theirs).Seconds())
	return nil
}

// shuffle moves bytes from 8 maps to 4 reduces, which discard them, and compares the time from the end of the last map
// with that of a bare stream.
func (s Setup) shuffle(ctx context.Context) (rows []live.Row, err error) {
	raw := time.Duration(1 << 62)
	for range s.Rounds {
		took, err := stream(s.Size)
		if err != nil {
			return nil, err
		}
		raw = min(raw, took)
	}
	best := time.Duration(1 << 62)
	flags := append([]string{"--memory", "1GiB"}, fourWorkers...)
	err = s.with(ctx, nil, flags, func(_ *live.Cluster, cl *client.Client) error {
		for i := range s.Rounds {
			spec := builtin(fmt.Sprint("dfs:/shuffled", i), "synthetic", "--maps", "8", "--reduces", "4", "--map-time", "0s", "--reduce-time", "0s",
				"--shuffle-bytes", strconv.FormatInt(s.Size, 10), "--compress", "none")
			spec.Slowstart = 1
			var mapped time.Time
			_, err := run(ctx, cl, spec, func(st wire.JobStatus) {
				if mapped.IsZero() && st.Maps.Total > 0 && st.Maps.Done == st.Maps.Total {
					mapped = time.Now()
				}
			})
			if err != nil {
				return err
			}
			best = min(best, time.Since(mapped))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	mbs := func(d time.Duration) float64 { return float64(s.Size) / 1e6 / d.Seconds() }
	return []live.Row{live.Row{
		ID: "shuffle", What: "4 reduces fetch, check and merge what 8 maps made, not compressed", Against: "one bare loopback stream of as many bytes",
		Value: 100 * raw.Seconds() / best.Seconds(), Unit: "%", Must: 40, Aim: 65, AtLeast: true,
		Note: fmt.Sprintf("%.0f MB/s against %.0f MB/s", mbs(best), mbs(raw)),
	}.Judged()}, nil
}

// stream sends n bytes over the loopback to a reader that discards them.
func stream(n int64) (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	sent := make(chan error, 1)
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			sent <- err
			return
		}
		buf := make([]byte, 256<<10)
		for left := n; left > 0 && err == nil; left -= int64(len(buf)) {
			_, err = c.Write(buf[:min(left, int64(len(buf)))])
		}
		if cerr := c.Close(); err == nil {
			err = cerr
		}
		sent <- err
	}()
	c, err := l.Accept()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	begin := time.Now()
	got, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
	took := time.Since(begin)
	if serr := <-sent; err == nil {
		err = serr
	}
	if err == nil && got != n {
		err = fmt.Errorf("%d bytes came of %d", got, n)
	}
	return took, err
}

// local counts the maps that ran on a node with their block.
func (s Setup) local(ctx context.Context) (rows []live.Row, err error) {
	text := filepath.Join(s.Dir, "blocks")
	if _, _, err := live.Timed(ctx, s.Self, "gen", "text", "--size", "96MiB", text); err != nil {
		return nil, err
	}
	defer os.Remove(text)
	flags := []string{"--workers", "8", "--racks", "2", "--policy", "delay", "--containers", "2"}
	var near, all int64
	err = s.with(ctx, []string{"MILLRACE_MASTER_BLOCK_SIZE=1MiB"}, flags, func(c *live.Cluster, cl *client.Client) error {
		if _, _, err := live.Timed(ctx, s.Self, "dfs", "--master", c.Master, "put", "--progress", "none", text, "/blocks"); err != nil {
			return err
		}
		for i := range s.Rounds {
			st, err := run(ctx, cl, builtin(fmt.Sprint("dfs:/near", i), "wordcount", "--input", "dfs:/blocks"), nil)
			if err != nil {
				return err
			}
			near += int64(st.Locality["node"])
			all += int64(st.Maps.Total)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []live.Row{live.Row{
		ID: "local", What: "maps on a node that has their block: 8 workers, 3 copies, idle cluster, delay", Value: 100 * float64(near) / float64(max(all, 1)), Unit: "%",
		Must: 95, Aim: 99, AtLeast: true, Note: fmt.Sprintf("%d of %d", near, all),
	}.Judged()}, nil
}
