package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/jobs/gensort"
	"github.com/millrace/millrace/jobs/textgen"
)

func newGen() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gen text|tera|records|graph|points|visits|matrix OUT",
		Short: "Make test data: Zipf text, TeraGen rows, key-value lines, and tables for the examples",
		Example: `  millrace gen text --size 1GiB words.txt
  millrace gen tera --size 1GB rows.dat`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("gen needs a kind of data: text, tera, records, graph, points, visits or matrix")
			}
			return fmt.Errorf("unknown kind of data %q (known: text, tera, records, graph, points, visits, matrix)", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newGenText(), newGenTera(), newGenRecords(),
		newGenTable("graph", "nodes", "number of nodes", "Links of a graph, FROM TO: popular nodes have more of them"),
		newGenTable("points", "centres", "number of centres", "Points of a plane, X Y, scattered around centres on a circle"),
		newGenTable("visits", "pages", "number of pages", "A day's log of a web site, SECOND USER PAGE MILLISECONDS"),
		newGenTable("matrix", "side", "number of rows, and of columns", "Entries of two square matrices, A|B ROW COLUMN VALUE"),
	)
	return cmd
}

// genOptions are the flags of all generators.
type genOptions struct {
	size      jobs.ByteSize
	seed      uint64
	overwrite bool
	progress  string
}

func (o *genOptions) flags(cmd *cobra.Command, seeded bool) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("give one file to make, have %d", len(args))
		}
		return nil
	}
	o.size = 1 << 30
	cmd.Flags().Var(&o.size, "size", "size of the file")
	if seeded {
		cmd.Flags().Uint64Var(&o.seed, "seed", 1, "seed: the same seed makes the same bytes")
	}
	cmd.Flags().BoolVar(&o.overwrite, "overwrite", false, "replace an existing file")
	cmd.Flags().StringVar(&o.progress, "progress", "auto", "auto, bar, plain or none")
	return cmd
}

func newGenText() *cobra.Command {
	var o genOptions
	var words int
	cmd := &cobra.Command{
		Use: "text OUT", Short: "Lines of words whose frequencies follow Zipf's law",
		Example: "  millrace gen text --size 1GiB words.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			if words < 1 {
				return fmt.Errorf("--words is %d, must be at least 1", words)
			}
			c := textgen.DefaultTextConfig()
			c.Seed, c.Words = o.seed, words
			g, err := textgen.NewText(c)
			if err != nil {
				return err
			}
			return o.write(cmd, args[0], textgen.BlockBytes, int64(o.size), g.Fill)
		},
	}
	cmd.Flags().IntVar(&words, "words", textgen.DefaultTextConfig().Words, "different words")
	return o.flags(cmd, true)
}

func newGenRecords() *cobra.Command {
	var o genOptions
	c := textgen.DefaultRecordsConfig()
	cmd := &cobra.Command{
		Use: "records OUT", Short: "Lines of key TAB value, with keys as skewed as wanted",
		Example: "  millrace gen records --size 100MiB --keys 100000 --skew 1.1 visits.tsv",
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.Keys < 1 {
				return fmt.Errorf("--keys is %d, must be at least 1", c.Keys)
			}
			c.Seed = o.seed
			g, err := textgen.NewRecords(c)
			if err != nil {
				return err
			}
			return o.write(cmd, args[0], textgen.BlockBytes, int64(o.size), g.Fill)
		},
	}
	cmd.Flags().IntVar(&c.Keys, "keys", c.Keys, "different keys")
	cmd.Flags().Float64Var(&c.Exponent, "skew", c.Exponent, "Zipf exponent of the keys (0: all alike)")
	cmd.Flags().Float64Var(&c.Hot, "hot", c.Hot, "share of the lines that one key has")
	return o.flags(cmd, true)
}

// newGenTable returns the command that generates a kind of table.
func newGenTable(kind, things, usage, short string) *cobra.Command {
	var o genOptions
	c := textgen.TableConfig{Kind: kind, Things: textgen.UsualThings(kind)}
	cmd := &cobra.Command{
		Use: kind + " OUT", Short: short,
		Example: fmt.Sprintf("  millrace gen %s --size 1MB --%s %d %s.txt", kind, things, c.Things, kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.Things < 1 {
				return fmt.Errorf("--%s is %d, must be at least 1", things, c.Things)
			}
			c.Seed = o.seed
			g, err := textgen.NewTable(c)
			if err != nil {
				return err
			}
			return o.write(cmd, args[0], textgen.BlockBytes, int64(o.size), g.Fill)
		},
	}
	cmd.Flags().IntVar(&c.Things, things, c.Things, usage)
	return o.flags(cmd, true)
}

func newGenTera() *cobra.Command {
	var o genOptions
	var ascii bool
	cmd := &cobra.Command{
		Use: "tera OUT", Short: "The 100-byte rows of the Sort Benchmark, as TeraGen makes them",
		Example: "  millrace gen tera --size 1GB rows.dat",
		RunE: func(cmd *cobra.Command, args []string) error {
			const block = gensort.RecordSize * 10_000
			rows := int64(o.size) / gensort.RecordSize
			form := gensort.Binary
			if ascii {
				form = gensort.ASCII
			}
			return o.write(cmd, args[0], block, rows*gensort.RecordSize, func(dst []byte, i uint64) {
				gensort.NewGenerator(gensort.Uint128{Lo: i * 10_000}, form).Fill(dst)
			})
		},
	}
	cmd.Flags().BoolVar(&ascii, "ascii", false, "rows of printable characters that end in CR LF, as gensort -a")
	return o.flags(cmd, false)
}

// check refuses names for which a file of this size cannot be made.
func (o *genOptions) check(name string, size int64) error {
	if name == "" {
		return errors.New("the name of the file to make is empty")
	}
	switch info, err := os.Stat(name); {
	case err == nil && info.IsDir():
		return failed(fmt.Errorf("%q is a directory: give the name of a file to make", name))
	case err == nil && !o.overwrite:
		return failed(fmt.Errorf("%q exists (remove it, choose another, or give --overwrite)", name))
	}
	dir := filepath.Dir(name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return failed(fmt.Errorf("%q cannot be made: %q is not a directory that exists", name, dir))
	}
	total, free, err := disk.Free(dir)
	if err != nil || total == 0 {
		return nil //nolint:nilerr // the first write that fails will tell
	}
	if free < size {
		return failed(fmt.Errorf("%q would have %s, and the disk of %q has %s: %w", name, human.Bytes(size), dir, human.Bytes(free), syscall.ENOSPC))
	}
	return nil
}

// write makes the file block by block on all cores. The file gets its name only when it is complete.
func (o *genOptions) write(cmd *cobra.Command, name string, block int, size int64, fill func(dst []byte, i uint64)) (err error) {
	if size < 1 {
		return fmt.Errorf("--size is %d, must be at least one record", size)
	}
	mode, err := console.ParseMode(o.progress)
	if err != nil {
		return err
	}
	if err := o.check(name, size); err != nil {
		return err
	}
	tmp := name + ".millrace-tmp"
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return failed(err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(tmp)
		}
	}()
	if err := fillFile(cmd, f, mode, block, size, fill); err != nil {
		if cmd.Context().Err() != nil {
			return failed(errors.New(console.Failure(err)))
		}
		return failed(fmt.Errorf("write %q: %w", name, err))
	}
	if err := errors.Join(f.Close(), os.Rename(tmp, name)); err != nil {
		return failed(err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: %s\n", human.Printable(name), human.Bytes(size))
	return nil
}

// fillFile writes the blocks and shows its progress.
func fillFile(cmd *cobra.Command, f *os.File, mode console.Mode, block int, size int64, fill func(dst []byte, i uint64)) error {
	var made atomic.Int64
	begin := time.Now()
	defer watchTransfer(mode, func() meter {
		return meter{name: strings.TrimPrefix(cmd.CommandPath(), "millrace "), bytes: made.Load(), total: size, took: time.Since(begin)}
	})()
	g, ctx := errgroup.WithContext(cmd.Context())
	workers := int64(runtime.GOMAXPROCS(0))
	for w := range workers {
		g.Go(func() error {
			buf := make([]byte, block)
			for i := w; i*int64(block) < size && ctx.Err() == nil; i += workers {
				b := buf[:min(int64(block), size-i*int64(block))]
				fill(b, uint64(i))
				if _, err := f.WriteAt(b, i*int64(block)); err != nil {
					return err
				}
				made.Add(int64(len(b)))
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}
