package dfsbench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/bench/live"
)

// large measures writing and reading one large file.
func (s Setup) large(ctx context.Context, c *live.Cluster) ([]live.Row, error) {
	in := filepath.Join(s.Dir, "input")
	if err := errors.Join(makeInput(in, s.Size), makeInput(in+"3", 3*s.Size)); err != nil {
		return nil, err
	}
	var write, once, network, local live.Duel
	for round := range 1 + s.Rounds {
		if round == 1 { // the first only warms up: a virtual machine's memory costs more when it is used for the first time
			write, once, network, local = live.Duel{}, live.Duel{}, live.Duel{}, live.Duel{}
		}
		name := fmt.Sprintf("/f%d", round)
		if err := s.writeRound(ctx, c, in, name, &write, &once); err != nil {
			return nil, err
		}
		if err := s.readRound(ctx, c, in, name, &network, &local); err != nil {
			return nil, err
		}
		if _, err := timed(ctx, c.Self, "dfs", "--master", c.Master, "rm", "--skip-trash", name); err != nil {
			return nil, err
		}
		if err := s.gone(ctx); err != nil {
			return nil, err
		}
	}
	rate := func(d time.Duration) float64 { return float64(s.Size) / 1e6 / d.Seconds() }
	row := func(id, what, against string, d *live.Duel, must float64) live.Row {
		return live.Row{
			ID: id, What: what, Against: against, Value: d.Speed(), Unit: "x", Must: must, AtLeast: true,
			Note: fmt.Sprintf("%.0f MB/s of the file against %.0f MB/s", rate(live.Median(d.Ours)), rate(live.Median(d.Theirs))),
		}.Judged()
	}
	w := row("write", "dfs put, three copies, from a node", "dd conv=fdatasync of the same bytes, all three copies", &write, 0.70)
	w.Note += fmt.Sprintf("; against dd of one copy %.2f x", once.Speed())
	return []live.Row{
		w,
		row("read", "dfs cat over the network, cached, checksums verified", "cat", &network, 0.35),
		row("read-local", "dfs cat on a node that has the blocks, checksums verified", "cat", &local, 0.60),
	}, nil
}

// gone waits until no block file is left, so that the next round has as much free memory as this one had.
func (s Setup) gone(ctx context.Context) error {
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		left, err := filepath.Glob(filepath.Join(s.Dir, "cluster", "*", "blocks", "blocks", "*", "*.blk"))
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("blocks of a removed file are still there after a minute")
}

// writeRound writes the file with three copies, and as many bytes with dd to the same disk.
func (s Setup) writeRound(ctx context.Context, c *live.Cluster, in, name string, write, once *live.Duel) error {
	flushDisks()
	ours, err := timed(ctx, c.Self, "dfs", "--master", c.Master, "--node", c.Workers[0].Name, "put", "--progress", "none", in, name)
	if err != nil {
		return err
	}
	one, err := s.dd(ctx, in)
	if err != nil {
		return err
	}
	three, err := s.dd(ctx, in+"3")
	write.Note(ours, three)
	once.Note(ours, one)
	return err
}

// dd copies a cached file and syncs the copy at the end.
func (s Setup) dd(ctx context.Context, in string) (time.Duration, error) {
	out := filepath.Join(s.Dir, "dd.out")
	defer os.Remove(out)
	flushDisks()
	return timed(ctx, "dd", "if="+in, "of="+out, "bs=1M", "conv=fdatasync")
}

// readRound reads the file over the network and from the local disk, and the input with cat.
func (s Setup) readRound(ctx context.Context, c *live.Cluster, in, name string, network, local *live.Duel) error {
	for range 3 {
		cat, err1 := timed(ctx, "cat", in)
		far, err2 := timed(ctx, c.Self, "dfs", "--master", c.Master, "cat", name)
		near, err3 := timed(ctx, c.Self, "dfs", "--master", c.Master, "--node", c.Workers[0].Name, "cat", name)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		network.Note(far, cat)
		local.Note(near, cat)
	}
	return nil
}

// makeInput writes bytes that no disk can compress.
func makeInput(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	src := rand.NewChaCha8([32]byte{1})
	buf := make([]byte, 1<<20)
	for left := size; left > 0 && err == nil; left -= int64(len(buf)) {
		buf = buf[:min(left, int64(len(buf)))]
		_, _ = src.Read(buf) // never fails
		_, err = f.Write(buf)
	}
	return errors.Join(err, f.Close())
}

// timed runs a command and returns its wall time.
func timed(ctx context.Context, args ...string) (time.Duration, error) {
	wall, _, err := live.Timed(ctx, args...)
	return wall, err
}
