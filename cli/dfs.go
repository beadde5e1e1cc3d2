package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/internal/wire"
)

func newDFS() *cobra.Command {
	d := &dfsCommand{}
	cmd := &cobra.Command{
		Use:   "dfs",
		Short: "Files in the block store: put, get, cat, ls, mkdir, mv, rm, chmod, stat, du, fsck and more",
		Long: `Files in the block store.

Paths may be written with dfs: before them or without. One that does not begin with a slash lies below
/user/NAME. The signs * ? [a-z] in any part of a path stand for all names that match.`,
		Example: `  millrace dfs put books/ dfs:/in -r
  millrace dfs ls /in
  millrace dfs cat '/out/part-r-*' | head`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("dfs needs a command (millrace dfs --help lists them)")
			}
			return fmt.Errorf("unknown command %q (millrace dfs --help lists them)", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	d.define(cmd)
	cmd.PersistentFlags().StringVar(&d.node, "node", os.Getenv("MILLRACE_NODE"), "node this runs on: its disk is read directly and written first (default: $MILLRACE_NODE)")
	cmd.AddCommand(
		d.newPut(), d.newGet(), d.newCat(),
		d.newLs(), d.newStat(), d.newDu(),
		d.newMkdir(), d.newMv(), d.newRm(), d.newExpunge(), d.newChmod(), d.newChown(), d.newChgrp(), d.newSnapshot(), d.newSetrep(), d.newQuota(),
		d.newFsck(), d.newSafemode(), d.newBalance(), d.newNodes(), d.newDrain(), d.newUndrain(), newRepair(),
	)
	return cmd
}

// dfsCommand is what the commands of the block store share.
type dfsCommand struct {
	masterFlags
	node string
}

// session is one command's connection to the block store.
type session struct {
	*dfs.Client
	cluster *client.Client
	ctx     context.Context
	home    string // base of paths without a leading slash
}

// with connects and runs work. It marks every error of work as a failure, not as a mistake in the command line.
func (d *dfsCommand) with(cmd *cobra.Command, work func(s *session) error) error {
	cl, err := d.connect(func(c *dfs.Config) { c.Node = wire.NodeName(d.node) })
	if err != nil {
		return err
	}
	s := &session{cl.DFS(), cl, cmd.Context(), "/user/" + cl.User()}
	err = errors.Join(work(s), cl.Close())
	if _, ok := errors.AsType[*failure](err); ok {
		return err
	}
	return failed(err)
}

// path returns the path of the store that a user's argument means.
func (s *session) path(arg string) (string, error) {
	p := strings.TrimPrefix(arg, "dfs:")
	if p != arg && strings.HasPrefix(p, "//") {
		p = strings.TrimPrefix(p, "//")
		if !strings.HasPrefix(p, "/") {
			return "", fmt.Errorf("%q: a host does not belong here; give --master", arg)
		}
	}
	if strings.HasPrefix(arg, "file:") {
		return "", fmt.Errorf("%q is a file of this machine, not of the block store", arg)
	}
	if !strings.HasPrefix(p, "/") {
		p = s.home + "/" + p
	}
	if p = strings.TrimRight(p, "/"); p == "" {
		p = "/"
	}
	return p, nil
}

const globSigns = `*?[`

// glob returns the files that a pattern matches. A path that exists as written, or has no pattern signs, stands for
// itself.
func (s *session) glob(arg string) ([]wire.FileInfo, error) {
	p, err := s.path(arg)
	if err != nil {
		return nil, err
	}
	info, err := s.Stat(s.ctx, p)
	if err == nil {
		return []wire.FileInfo{info}, nil
	}
	if wire.KindOf(err) != wire.NotFound {
		return nil, err
	}
	if !strings.ContainsAny(p, globSigns) {
		return nil, fmt.Errorf("%w%s", err, s.meant(p))
	}
	if _, err := path.Match(p, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	root, err := s.Stat(s.ctx, "/")
	if err != nil {
		return nil, err
	}
	found := []wire.FileInfo{root}
	for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if found, err = s.matching(found, part); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, wire.Errorf(wire.NotFound, "%s: nothing matches", p)
	}
	return found, nil
}

// meant returns a question that names the path nearest to a missing one, among those that the user may see.
func (s *session) meant(p string) string {
	return suggest.Path(p, func(dir string) ([]string, error) {
		list, err := s.List(s.ctx, dir, "", suggest.MostNames)
		return list.Names(), err
	})
}

// matching returns the entries of directories that match one part of a pattern.
func (s *session) matching(dirs []wire.FileInfo, part string) (out []wire.FileInfo, err error) {
	for _, dir := range dirs {
		if !dir.Dir {
			continue
		}
		if !strings.ContainsAny(part, globSigns+`\`) {
			info, err := s.Stat(s.ctx, path.Join(dir.Path, part))
			if err == nil {
				out = append(out, info)
			} else if wire.KindOf(err) != wire.NotFound {
				return nil, err
			}
			continue
		}
		list, err := s.ListAll(s.ctx, dir.Path)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if ok, _ := path.Match(part, path.Base(e.Path)); ok {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// globAll applies glob to several paths, in the given order.
func (s *session) globAll(args []string) (out []wire.FileInfo, err error) {
	for _, a := range args {
		found, err := s.glob(a)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}
