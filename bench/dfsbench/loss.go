package dfsbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/wire"
)

// loss kills one of five nodes and measures how long it takes until every block has its copies again, and how much that
// slows readers.
func (s Setup) loss(ctx context.Context, c *live.Cluster) ([]live.Row, error) {
	cl, err := c.Client()
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	if err := putMany(ctx, cl.DFS(), s.Files); err != nil {
		return nil, err
	}
	lost, err := blocksOf(ctx, cl.DFS(), c.Workers[0].Name)
	if err != nil {
		return nil, err
	}
	quiet, err := readers(ctx, cl.DFS(), s.Files, func() error { time.Sleep(s.Window); return nil })
	if err != nil {
		return nil, err
	}
	var took time.Duration
	busy, err := readers(ctx, cl.DFS(), s.Files, func() error {
		begin := time.Now()
		if err := c.Kill(0); err != nil {
			return err
		}
		err := repaired(ctx, cl.DFS(), c.Workers[0].Name)
		took = time.Since(begin)
		return err
	})
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return []live.Row{
		live.Row{
			ID: "repair", What: fmt.Sprintf("one of five nodes killed, %d blocks of 1 MiB back to three copies", lost),
			Value: took.Seconds(), Unit: "s", Must: 10,
		}.Judged(),
		live.Row{
			ID: "repair-p99", What: "p99 of reads of 1 MiB meanwhile", Against: "p99 before",
			Value: float64(busy) / float64(quiet), Unit: "x", Must: 2, Note: fmt.Sprintf("%.1f ms against %.1f ms", ms(busy), ms(quiet)),
		}.Judged(),
	}, err
}

func many(i int) string { return fmt.Sprintf("/many/%d", i) }

func putMany(ctx context.Context, cl *dfs.Client, n int) error {
	data := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(data) // never fails
	for i := range n {
		w, err := cl.Create(ctx, many(i), dfs.CreateOptions{})
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return nil
}

func blocksOf(ctx context.Context, cl *dfs.Client, node string) (int64, error) {
	list, err := cl.Nodes(ctx)
	for _, n := range list {
		if string(n.Node) == node {
			return n.Blocks, err
		}
	}
	return 0, err
}

// repaired waits until the name service has seen the loss and every block has its copies again.
func repaired(ctx context.Context, cl *dfs.Client, node string) error {
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		list, err := cl.Nodes(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(n wire.StoreNode) bool { return string(n.Node) == node && n.State == "dead" }) {
			continue
		}
		r, err := cl.Fsck(ctx, wire.FsckRequest{Path: "/"})
		if err != nil || r.Under+r.Missing+r.Corrupt == 0 && len(r.Files) == 0 {
			return err
		}
	}
	return ctx.Err()
}

// readers reads random files while meanwhile runs, and returns the 99th percentile of the time of one read.
func readers(ctx context.Context, cl *dfs.Client, files int, meanwhile func() error) (time.Duration, error) {
	stop := make(chan struct{})
	var mu sync.Mutex // guards all
	var all []time.Duration
	var wg sync.WaitGroup
	errs := make(chan error, 2)
	for k := range 2 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				begin := time.Now()
				if err := readOne(ctx, cl, many(rng.IntN(files))); err != nil {
					errs <- err
					return
				}
				mu.Lock()
				all = append(all, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	err := meanwhile()
	close(stop)
	wg.Wait()
	select {
	case e := <-errs:
		err = errors.Join(err, e)
	default:
	}
	if len(all) == 0 {
		return 0, errors.Join(err, errors.New("nothing was read"))
	}
	slices.Sort(all)
	return all[len(all)*99/100], err
}

func readOne(ctx context.Context, cl *dfs.Client, path string) error {
	f, err := cl.Open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20))
	return err
}
