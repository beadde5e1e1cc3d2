package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/wire"
)

func (d *dfsCommand) newGet() *cobra.Command {
	var o transferFlags
	cmd := &cobra.Command{
		Use:   "get SRC... DST",
		Short: "Copy files of the block store to this machine; an interrupted get is carried on",
		Long: `Copy files of the block store to this machine. A file is written as DST.part and gets its name when it is whole
and its checksum is right. If an interrupted get has left a DST.part, the command fetches only what is missing.`,
		Example: `  millrace dfs get dfs:/out/part-r-00000 counts.txt
  millrace dfs get -r dfs:/out .`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(); err != nil {
				return err
			}
			return d.with(cmd, func(s *session) error {
				g := &getting{s: s, o: o, t: &transfer{name: "get", flags: o}}
				return g.run(cmd, args[:len(args)-1], args[len(args)-1])
			})
		},
	}
	o.define(cmd)
	return cmd
}

// getting is one get.
type getting struct {
	s     *session
	o     transferFlags
	t     *transfer
	files []copying
}

func (g *getting) run(cmd *cobra.Command, sources []string, dst string) error {
	found, err := g.s.globAll(sources)
	if err != nil {
		return err
	}
	dst = strings.TrimPrefix(dst, "file:")
	if strings.HasPrefix(dst, "dfs:") {
		return fmt.Errorf("%q is a path of the block store, not of this machine", dst)
	}
	if dst == "-" {
		return g.s.cat(console.Shown(cmd.OutOrStdout()), found, 0, -1)
	}
	info, err := os.Stat(dst)
	into := err == nil && info.IsDir() || strings.HasSuffix(dst, "/")
	if len(found) > 1 && !into {
		return fmt.Errorf("%d sources and %s is not a directory", len(found), dst)
	}
	for _, i := range found {
		target := dst
		if into && i.Path != "/" {
			target = filepath.Join(dst, path.Base(i.Path))
		}
		if err := g.plan(i, target); err != nil {
			return err
		}
	}
	return g.t.run(cmd, g.files, g.one)
}

// plan finds the files of one source and makes their directories. The names come from others, so it refuses those that
// lead elsewhere.
func (g *getting) plan(i wire.FileInfo, target string) error {
	if !i.Dir {
		g.files = append(g.files, copying{i.Path, target, i.Len})
		return nil
	}
	if !g.o.recursive {
		return fmt.Errorf("%s is a directory: give -r", i.Path)
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	list, err := g.s.ListAll(g.s.ctx, i.Path)
	if err != nil {
		return err
	}
	for _, e := range list {
		name := path.Base(e.Path)
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s: not a name for a file of this machine", e.Path)
		}
		if err := g.plan(e, filepath.Join(target, name)); err != nil {
			return err
		}
	}
	return nil
}

// one fetches one file: the missing part, or all of it if the part that was there belongs to another file.
func (g *getting) one(ctx context.Context, c copying) (copied, error) {
	if _, err := os.Lstat(c.to); err == nil && !g.o.overwrite {
		return copied{}, fmt.Errorf("get %s: %s exists (remove it, choose another name, or give -f)", c.from, c.to)
	}
	f, err := g.s.Open(ctx, c.from)
	if err != nil {
		return copied{}, fmt.Errorf("get %s: %w", c.from, err)
	}
	defer f.Close()
	part := c.to + ".part"
	out, err := g.fetch(f, part, true)
	if errors.Is(err, errOther) {
		out, err = g.fetch(f, part, false)
	}
	if err == nil {
		err = os.Rename(part, c.to)
	}
	if err != nil {
		return copied{}, fmt.Errorf("get %s: %w", c.from, err)
	}
	out.From, out.To = c.from, c.to
	return out, nil
}

// errOther says that the parts do not make up the file.
var errOther = wire.Errorf(wire.Corrupt, "the checksum of what arrived is not that of the file")

// fetch completes FILE.part to the file's content. It keeps what is already there if resume is set and the file's
// checksum is known: only the checksum can tell that it was the same file.
func (g *getting) fetch(f *dfs.File, part string, resume bool) (copied, error) {
	var out copied
	info := f.Info()
	if info.Open {
		return out, wire.Errorf(wire.Unavailable, "the file is still being written")
	}
	w, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return out, err
	}
	defer w.Close()
	sum := codec.NewSum()
	if st, err := w.Stat(); err == nil && resume && info.HasCRC && st.Size() <= info.Len {
		if out.Resumed, err = io.Copy(sum, w); err != nil {
			return out, err
		}
	} else if err := w.Truncate(0); err != nil {
		return out, err
	}
	g.t.bytes.Add(out.Resumed)
	if _, err := f.Seek(out.Resumed, io.SeekStart); err != nil {
		return out, err
	}
	n, err := f.WriteTo(counting{io.MultiWriter(w, sum), &g.t.bytes})
	if out.Len = out.Resumed + n; err != nil {
		return out, err
	}
	if info.HasCRC && sum.Sum32() != info.CRC {
		g.t.bytes.Add(-out.Len)
		return out, errOther
	}
	out.CRC = fmt.Sprintf("%08x", sum.Sum32())
	return out, w.Close()
}

func (d *dfsCommand) newCat() *cobra.Command {
	var off, length int64
	cmd := &cobra.Command{
		Use: "cat PATH...", Short: "Print files, one after the other",
		Example: `  millrace dfs cat 'dfs:/out/part-r-*'
  millrace dfs cat --offset -1000 dfs:/log`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				found, err := s.globAll(args)
				if err != nil {
					return err
				}
				return s.cat(console.Shown(cmd.OutOrStdout()), found, off, length)
			})
		},
	}
	cmd.Flags().Int64Var(&off, "offset", 0, "where to begin in each file; below zero, so many bytes before its end")
	cmd.Flags().Int64Var(&length, "length", -1, "how many bytes of each file (-1: to the end)")
	return cmd
}

func (s *session) cat(w io.Writer, files []wire.FileInfo, off, length int64) error {
	for _, i := range files {
		if err := s.catOne(w, i.Path, off, length); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) catOne(w io.Writer, name string, off, length int64) error {
	f, err := s.Open(s.ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if off < 0 {
		off = max(0, f.Size()+off)
	}
	left := max(0, f.Size()-off)
	if length >= 0 {
		left = min(left, length)
	}
	_, err = f.CopyRange(w, off, left)
	return err
}
