package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
)

func (d *dfsCommand) newPut() *cobra.Command {
	var o transferFlags
	var create dfs.CreateOptions
	var blockSize jobs.ByteSize
	var reader string
	cmd := &cobra.Command{
		Use:   "put SRC... DST",
		Short: "Copy files of this machine into the block store; - is standard input",
		Long: `Copy files of this machine into the block store. A file appears under its name when all of it is stored, on
as many disks as asked for. If DST is a directory, or ends in a slash, files go into it. With --for, the first copy of each block
goes into the racks in which the maps of an announced job are planned to run (millrace scheduler plan ls).`,
		Example: `  millrace dfs put words.txt dfs:/in/
  millrace dfs put -r --replication 2 --checksum books dfs:/books`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(); err != nil {
				return err
			}
			create.BlockSize, create.Overwrite = int64(blockSize), o.overwrite
			return d.with(cmd, func(s *session) (err error) {
				if reader != "" {
					if create.Racks, err = plannedRacks(s.ctx, s.cluster, reader); err != nil {
						return err
					}
				}
				p := &putting{s: s, o: o, create: create, t: &transfer{name: "put", flags: o}}
				return p.run(cmd, args[:len(args)-1], args[len(args)-1])
			})
		},
	}
	o.define(cmd)
	d.defineUmask(cmd.Flags())
	cmd.Flags().IntVar(&create.Replication, "replication", 0, "copies of each block (default: the cluster's)")
	cmd.Flags().StringVar(&reader, "for", "", "name of an announced job: put the blocks where its maps will run")
	cmd.Flags().Var(&blockSize, "block-size", "size of a block (default: the cluster's)")
	return cmd
}

// putting is one put.
type putting struct {
	s      *session
	o      transferFlags
	create dfs.CreateOptions
	t      *transfer
	dirs   []string // to be made, parents first
	files  []copying
}

func (p *putting) run(cmd *cobra.Command, sources []string, dst string) error {
	local, err := globLocal(sources)
	if err != nil {
		return err
	}
	to, err := p.s.path(dst)
	if err != nil {
		return err
	}
	info, err := p.s.Stat(p.s.ctx, to)
	if err != nil && wire.KindOf(err) != wire.NotFound {
		return err
	}
	into := err == nil && info.Dir || strings.HasSuffix(dst, "/")
	if len(local) > 1 && !into {
		return fmt.Errorf("%d sources and %s is not a directory", len(local), to)
	}
	for _, src := range local {
		target := to
		if into && src == "-" {
			return fmt.Errorf("standard input has no name: %s is a directory, give the name of a file", to)
		} else if into {
			target = path.Join(to, filepath.Base(src))
		}
		if err := p.plan(src, target); err != nil {
			return err
		}
	}
	for _, dir := range p.dirs {
		if err := p.s.Mkdir(p.s.ctx, dir, true); err != nil {
			return err
		}
	}
	return p.t.run(cmd, p.files, p.one)
}

// globLocal returns the local files that arguments match; usually the shell has already expanded them.
func globLocal(args []string) (out []string, err error) {
	for _, a := range args {
		name := strings.TrimPrefix(a, "file:")
		if strings.HasPrefix(a, "dfs:") {
			return nil, fmt.Errorf("%q is a file of the block store, not of this machine", a)
		}
		if _, err := os.Lstat(name); name == "-" || err == nil || !strings.ContainsAny(name, globSigns) {
			out = append(out, name)
			continue
		}
		found, err := filepath.Glob(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: nothing matches", name)
		}
		out = append(out, found...)
	}
	return out, nil
}

// plan finds the files and directories of one source. It follows links to files, but not to directories, which may form
// circles.
func (p *putting) plan(src, target string) error {
	if src == "-" {
		p.files = append(p.files, copying{"-", target, -1})
		return nil
	}
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	if info.IsDir() && !p.o.recursive {
		return fmt.Errorf("%s is a directory: give -r", src)
	}
	if src, err = filepath.EvalSymlinks(src); err != nil {
		return err
	}
	return filepath.WalkDir(src, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, name)
		if err != nil {
			return err
		}
		to := target
		if rel != "." {
			to += "/" + filepath.ToSlash(rel)
		}
		if e.IsDir() {
			p.dirs = append(p.dirs, to)
			return nil
		}
		info, err := os.Stat(name)
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a file (%s)", human.Printable(name), info.Mode().Type())
		}
		if err == nil {
			p.files = append(p.files, copying{name, to, info.Size()})
		}
		return err
	})
}

// one copies one file.
func (p *putting) one(ctx context.Context, c copying) (copied, error) {
	in := io.Reader(os.Stdin)
	if c.from != "-" {
		f, err := os.Open(c.from)
		if err != nil {
			return copied{}, err
		}
		defer f.Close()
		in = f
	}
	w, err := p.s.Create(ctx, c.to, p.create)
	if err != nil {
		return copied{}, fmt.Errorf("put %s: %w", human.Printable(c.from), err)
	}
	n, err := p.t.move(ctx, w, in)
	if err != nil {
		w.Abort()
		return copied{}, fmt.Errorf("put %s: %w", human.Printable(c.from), err)
	}
	if err := w.Close(); err != nil {
		return copied{}, fmt.Errorf("put %s: %w", human.Printable(c.from), errors.Join(err, context.Cause(ctx)))
	}
	return copied{From: c.from, To: c.to, Len: n, CRC: fmt.Sprintf("%08x", w.CRC())}, nil
}
