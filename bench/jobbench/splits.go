package jobbench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/wire"
)

// splits counts the block bytes that workers send while maps of 512 KiB read input of which each node holds a part.
func (s Setup) splits(ctx context.Context) ([]live.Row, error) {
	size := min(s.Size, 64<<20)
	text := filepath.Join(s.Dir, "text")
	if _, _, err := live.Timed(ctx, s.Self, "gen", "text", "--size", strconv.FormatInt(size, 10), text); err != nil {
		return nil, err
	}
	defer os.Remove(text)
	var sent int64
	var st wire.JobStatus
	err := s.with(ctx, []string{"MILLRACE_MASTER_REPLICATION=1"}, append([]string{"--policy", "fifo"}, fourWorkers...), func(c *live.Cluster, cl *client.Client) error {
		if _, _, err := live.Timed(ctx, s.Self, "dfs", "--master", c.Master, "put", "--progress", "none", text, "/text"); err != nil {
			return err
		}
		before, err := blocksSent(ctx, cl)
		if err != nil {
			return err
		}
		spec := builtin("dfs:/out", "grep", "--fixed", "--lines", "--pattern", "no such word", "--input", "dfs:/text", "--split-bytes", "512KiB")
		if st, err = run(ctx, cl, spec, nil); err != nil {
			return err
		}
		after, err := blocksSent(ctx, cl)
		sent = after - before
		return err
	})
	if err != nil {
		return nil, err
	}
	maps := int64(st.Maps.Total)
	return []live.Row{live.Row{
		ID: "splits", What: "bytes of blocks sent while maps of 512 KiB read input with one copy", Against: "the input, and 128 KiB for each map",
		Value: float64(sent) / float64(size+maps*128<<10), Unit: "x", Must: 1.05, Note: fmt.Sprintf("%d MB sent for %d MB in %d maps", sent>>20, size>>20, maps),
	}.Judged()}, nil
}

// blocksSent returns the block bytes that workers have sent, once no more are reported.
func blocksSent(ctx context.Context, cl *client.Client) (sum int64, err error) {
	sum = -1
	for last := int64(-2); sum != last && ctx.Err() == nil; time.Sleep(1200 * time.Millisecond) {
		s, err := cl.Net(ctx)
		if err != nil {
			return 0, err
		}
		last, sum = sum, 0
		for _, n := range s.Nodes {
			sum += n.Sent["block"]
		}
	}
	return sum, ctx.Err()
}
