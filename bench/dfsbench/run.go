package dfsbench

import (
	"cmp"
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/client"
)

// Setup is what is measured, and where.
type Setup struct {
	Self   string // this program
	Dir    string // for the cluster and its files; emptied before and after
	Size   int64  // of the large file
	Rounds int    // the median of the rounds counts
	// Files is how many files of 1 MiB are on five nodes when one of them is killed.
	Files int
	// Window is how long clients create and stat.
	Window time.Duration
	// Many is how many files a master has when its start and memory are measured.
	Many int
}

func (s Setup) parts() []live.Part {
	return []live.Part{
		{IDs: []string{"write", "read", "read-local"}, What: "writing and reading a large file", Measure: s.on(4, s.large)},
		{IDs: []string{"create", "stat"}, What: "names: create and stat from eight clients", Measure: s.on(4, s.names)},
		{IDs: []string{"repair", "repair-p99"}, What: "the loss of a node", Measure: s.on(5, s.loss)},
		{IDs: []string{"restart", "memory"}, What: "a master with a great many files", Measure: s.million},
	}
}

// IDs lists the rows.
func IDs() []string { return live.IDs(Setup{}.parts()) }

// Run measures the rows in only, or all. say is called before each part.
func Run(ctx context.Context, s Setup, only []string, say func(what string)) ([]live.Row, error) {
	s.Files, s.Many, s.Window, s.Rounds = cmp.Or(s.Files, 333), cmp.Or(s.Many, 1_000_000), cmp.Or(s.Window, 3*time.Second), max(s.Rounds, 1)
	return live.Measure(ctx, s.Dir, s.parts(), only, say)
}

// on returns a measurement on a fresh cluster with that many workers.
func (s Setup) on(workers int, measure func(ctx context.Context, c *live.Cluster) ([]live.Row, error)) func(ctx context.Context) ([]live.Row, error) {
	return func(ctx context.Context) (rows []live.Row, err error) {
		err = live.With(ctx, s.Self, filepath.Join(s.Dir, "cluster"), nil, []string{"--workers", strconv.Itoa(workers), "--racks", "2"}, func(c *live.Cluster, _ *client.Client) (err error) {
			rows, err = measure(ctx, c)
			return err
		})
		return rows, err
	}
}
