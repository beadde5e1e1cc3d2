package cli

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
)

// transferFlags are the flags of put and get.
type transferFlags struct {
	recursive, overwrite, checksum, asJSON bool
	progress                               string
	mode                                   console.Mode
}

func (o *transferFlags) define(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&o.recursive, "recursive", "r", false, "directories too, with all that is below them")
	f.BoolVarP(&o.overwrite, "force", "f", false, "replace files that are there")
	f.BoolVar(&o.checksum, "checksum", false, "print the CRC32C of each file")
	f.StringVar(&o.progress, "progress", "auto", "auto, bar, plain or none")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object at the end, and no progress")
}

func (o *transferFlags) parse() (err error) {
	if o.mode, err = console.ParseMode(o.progress); o.asJSON {
		o.mode = console.None
	}
	return err
}

// A copying is one file to be copied.
type copying struct {
	from, to string
	size     int64 // -1: not known
}

// copied is a file that has arrived, as --json prints it.
type copied struct {
	From string `json:"from"`
	To   string `json:"to"`
	Len  int64  `json:"len"`
	CRC  string `json:"crc32c,omitempty"`
	// Resumed is how many bytes were already there.
	Resumed int64 `json:"resumed,omitempty"`
}

// atOnce is how many files are copied at a time.
const atOnce = 4

// A transfer copies files and shows its progress.
type transfer struct {
	name  string
	flags transferFlags
	bytes atomic.Int64
	done  atomic.Int32
}

// run copies all files and reports them in order. Files that have arrived stay, even if others fail.
func (t *transfer) run(cmd *cobra.Command, list []copying, one func(ctx context.Context, c copying) (copied, error)) error {
	begin := time.Now()
	var total int64
	for _, c := range list {
		total += max(c.size, 0)
	}
	stop := watchTransfer(t.flags.mode, func() meter {
		return meter{t.name, int(t.done.Load()), len(list), t.bytes.Load(), total, time.Since(begin)}
	})
	results := make([]copied, len(list))
	g, ctx := errgroup.WithContext(cmd.Context())
	g.SetLimit(atOnce)
	for i, c := range list {
		g.Go(func() (err error) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if results[i], err = one(ctx, c); err == nil {
				t.done.Add(1)
			}
			return err
		})
	}
	err := g.Wait()
	stop()
	return t.report(cmd, results, err, time.Since(begin))
}

func (t *transfer) report(cmd *cobra.Command, results []copied, err error, took time.Duration) error {
	var sum int64
	arrived := []copied{}
	for _, r := range results {
		if r.To != "" {
			arrived = append(arrived, r)
			sum += r.Len
		}
	}
	if t.flags.asJSON {
		out := map[string]any{"files": arrived, "bytes": sum, "elapsed_s": took.Seconds()}
		if err != nil {
			out["error"] = err.Error()
		}
		if e := printJSON(cmd, out); e != nil {
			return e
		}
		return err
	}
	if t.flags.checksum {
		for _, r := range arrived {
			fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", r.CRC, human.Printable(r.To))
		}
	}
	if t.flags.mode != console.None {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d of %s, %s in %s, %s\n",
			t.name, len(arrived), human.Many(int64(len(results)), "file"), human.Bytes(sum), human.Duration(took), human.Rate(sum, took))
	}
	return err
}

// copyBuffer is how much is moved at a time.
const copyBuffer = 1 << 20

// counting counts the bytes written.
type counting struct {
	io.Writer
	n *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// move copies from r to w, counts bytes, and stops when ctx ends.
func (t *transfer) move(ctx context.Context, w io.Writer, r io.Reader) (int64, error) {
	return io.CopyBuffer(counting{w, &t.bytes}, onlyReader{ctx, r}, make([]byte, copyBuffer))
}

// onlyReader hides all other methods, so that io.Copy uses the given buffer, and ends with its context.
type onlyReader struct {
	ctx context.Context
	r   io.Reader
}

func (o onlyReader) Read(p []byte) (int, error) {
	if o.ctx.Err() != nil {
		return 0, context.Cause(o.ctx)
	}
	return o.r.Read(p)
}
