package dfsbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/millrace/millrace/client"
)

// Setup is what is measured, and where.
type Setup struct {
	Self   string // this program
	Dir    string // for the cluster and its files; emptied before and after
	Size   int64  // of the large file
	Rounds int    // of which the median counts
	// Files is how many files of 1 MiB lie on five nodes when one of them is killed.
	Files int
	// Window is how long clients create and stat.
	Window time.Duration
}

// A Row is one figure.
type Row struct {
	ID      string  `json:"id"`
	What    string  `json:"what"`
	Against string  `json:"against,omitempty"`
	Ours    float64 `json:"ours"`
	Theirs  float64 `json:"theirs,omitempty"`
	Unit    string  `json:"unit"` // of both
	// Value is what is judged: ours over theirs, or ours itself. It must not be below Must,
	// or with AtMost not above it.
	Value   float64 `json:"value"`
	Must    float64 `json:"must"`
	AtMost  bool    `json:"at_most,omitempty"`
	Verdict string  `json:"verdict"` // "met" or "missed"
	Note    string  `json:"note,omitempty"`
}

func (r Row) judged() Row {
	r.Verdict = "met"
	if r.AtMost && r.Value > r.Must || !r.AtMost && r.Value < r.Must {
		r.Verdict = "missed"
	}
	return r
}

// Run measures everything. say is called before each part.
func Run(ctx context.Context, s Setup, say func(what string)) (rows []Row, err error) {
	if s.Files == 0 {
		s.Files = 333
	}
	if s.Window == 0 {
		s.Window = 3 * time.Second
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.Dir)) }()
	for _, part := range []struct {
		what    string
		workers int
		measure func(ctx context.Context, c *cluster) ([]Row, error)
	}{
		{"writing and reading a large file", 4, s.large},
		{"names: create and stat from eight clients", 4, s.names},
		{"the loss of a node", 5, s.loss},
	} {
		say(part.what)
		c, err := s.up(ctx, part.workers)
		if err != nil {
			return rows, err
		}
		got, err := part.measure(ctx, c)
		rows = append(rows, got...)
		if err := errors.Join(err, c.down()); err != nil {
			return rows, fmt.Errorf("%s: %w", part.what, err)
		}
	}
	return rows, nil
}

// A cluster is processes of this program.
type cluster struct {
	self, dir string
	Master    string `json:"master"`
	PID       int    `json:"pid"`
	Workers   []struct {
		Name string `json:"name"`
		PID  int    `json:"pid"`
	} `json:"workers"`
}

func (s Setup) up(ctx context.Context, workers int) (*cluster, error) {
	dir := filepath.Join(s.Dir, "cluster")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.Self, "cluster", "up", "--workers", fmt.Sprint(workers), "--racks", "2", "--dir", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cluster up: %w: %s", err, out)
	}
	c := &cluster{self: s.Self, dir: dir}
	b, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(b, c)
	}
	return c, err
}

// down stops the cluster, also when the measuring was interrupted.
func (c *cluster) down() error {
	if out, err := exec.Command(c.self, "cluster", "down", "--dir", c.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("cluster down: %w: %s", err, out)
	}
	return nil
}

func (c *cluster) client() (*client.Client, error) {
	return client.New(client.Config{Master: c.Master, User: "bench"})
}

func (c *cluster) kill(i int) error { return syscall.Kill(c.Workers[i].PID, syscall.SIGKILL) }

// timed runs a command, its output thrown away, and says how long it took.
func timed(ctx context.Context, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var text strings.Builder
	cmd.Stderr = &text
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	cmd.Stdout = null
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, text.String())
	}
	return time.Since(begin), nil
}
