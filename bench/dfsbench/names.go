package dfsbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
)

// clients is how many clients call at the same time, each over a connection of its own; deep is how many calls each has
// under way.
const (
	clients = 8
	deep    = 8
)

// names measures how many files a second can be made and described.
func (s Setup) names(ctx context.Context, c *live.Cluster) ([]live.Row, error) {
	all := make([]*client.Client, clients)
	for i := range all {
		cl, err := c.Client()
		if err != nil {
			return nil, err
		}
		defer cl.Close()
		all[i] = cl
	}
	create, err := s.rate(ctx, all, func(ctx context.Context, cl *client.Client, n int64) error {
		w, err := cl.DFS().Create(ctx, fmt.Sprintf("/names/%d/%d", n%100, n), dfs.CreateOptions{})
		if err != nil {
			return err
		}
		return w.Close()
	})
	if err != nil {
		return nil, err
	}
	stat, err := s.rate(ctx, all, func(ctx context.Context, cl *client.Client, n int64) error {
		i := n % int64(create*s.Window.Seconds()/2)
		_, err := cl.DFS().Stat(ctx, fmt.Sprintf("/names/%d/%d", i%100, i))
		return err
	})
	note := fmt.Sprintf("%d clients, each with %d under way", clients, deep)
	return []live.Row{
		live.Row{ID: "create", What: "create and close of empty files, durable", Value: create, Unit: "files a second", Must: 5000, AtLeast: true, Note: note}.Judged(),
		live.Row{ID: "stat", What: "stat", Value: stat, Unit: "calls a second", Must: 50_000, AtLeast: true, Note: note}.Judged(),
	}, err
}

// rate returns how often a second all clients together can do something.
func (s Setup) rate(ctx context.Context, all []*client.Client, do func(ctx context.Context, cl *client.Client, n int64) error) (float64, error) {
	var next, done atomic.Int64
	var once sync.Once
	stop := make(chan struct{})
	g, ctx := errgroup.WithContext(ctx)
	begin := time.Now()
	timer := time.AfterFunc(s.Window, func() { once.Do(func() { close(stop) }) })
	defer timer.Stop()
	for _, cl := range all {
		for range deep {
			g.Go(func() error {
				for {
					select {
					case <-stop:
						return nil
					default:
					}
					if err := do(ctx, cl, next.Add(1)-1); err != nil {
						return err
					}
					done.Add(1)
				}
			})
		}
	}
	err := g.Wait()
	if done.Load() == 0 {
		err = errors.Join(err, errors.New("nothing was done in time"))
	}
	return float64(done.Load()) / time.Since(begin).Seconds(), err
}
