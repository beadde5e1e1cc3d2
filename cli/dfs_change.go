package cli

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/wire"
)

func (d *dfsCommand) newMkdir() *cobra.Command {
	var parents bool
	cmd := &cobra.Command{
		Use: "mkdir PATH...", Short: "Make directories",
		Example: "  millrace dfs mkdir -p dfs:/logs/2026/november",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				return each(args, func(a string) error {
					p, err := s.path(a)
					if err == nil {
						err = s.Mkdir(s.ctx, p, parents)
					}
					return err
				})
			})
		},
	}
	d.defineUmask(cmd.Flags())
	cmd.Flags().BoolVarP(&parents, "parents", "p", false, "also make the directories above; do not fail if they are there already")
	return cmd
}

// each calls fn with every argument, even after one has failed.
func each(args []string, fn func(a string) error) error {
	errs := make([]error, len(args))
	for i, a := range args {
		errs[i] = fn(a)
	}
	return errors.Join(errs...)
}

func (d *dfsCommand) newMv() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "mv SRC... DST", Short: "Give files and directories another name, or move them into a directory",
		Example: "  millrace dfs mv dfs:/tmp/result dfs:/results/today",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				return s.move(args[:len(args)-1], args[len(args)-1], force)
			})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace a file that has the name")
	return cmd
}

func (s *session) move(sources []string, dst string, force bool) error {
	found, err := s.globAll(sources)
	if err != nil {
		return err
	}
	to, err := s.path(dst)
	if err != nil {
		return err
	}
	info, err := s.Stat(s.ctx, to)
	if err != nil && wire.KindOf(err) != wire.NotFound {
		return err
	}
	into := err == nil && info.Dir
	if !into && (len(found) > 1 || strings.HasSuffix(dst, "/") && to != "/") {
		return wire.Errorf(wire.NotFound, "%s is not a directory", to)
	}
	for _, i := range found {
		target := to
		if into {
			target = path.Join(to, path.Base(i.Path))
		}
		if err := s.Rename(s.ctx, i.Path, target, force); err != nil {
			return err
		}
	}
	return nil
}

func (d *dfsCommand) newRm() *cobra.Command {
	var o rmOptions
	cmd := &cobra.Command{
		Use: "rm PATH...", Short: "Move files and directories into your trash, or remove them for good",
		Long: `Move files and directories into your trash: /user/NAME/.Trash/TIME, under the paths that they had. For a day
you can move them back from there; then the store removes them. It removes at once what is in the trash already.`,
		Example: "  millrace dfs rm -r dfs:/tmp/old\n  millrace dfs rm --skip-trash dfs:/huge",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				return each(args, func(a string) error { return s.remove(a, o) })
			})
		},
	}
	cmd.Flags().BoolVarP(&o.recursive, "recursive", "r", false, "directories too, with all that is below them")
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "do not fail if there is nothing")
	cmd.Flags().BoolVar(&o.skipTrash, "skip-trash", false, "remove for good: there is no way back")
	return cmd
}

// rmOptions are the flags of rm.
type rmOptions struct{ recursive, force, skipTrash bool }

func (d *dfsCommand) newExpunge() *cobra.Command {
	return &cobra.Command{
		Use: "expunge", Short: "Empty your trash",
		Example: "  millrace dfs expunge",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd, func(s *session) error {
				err := s.Remove(s.ctx, s.home+"/.Trash", true)
				if wire.KindOf(err) == wire.NotFound {
					return nil
				}
				return err
			})
		},
	}
}

func (s *session) remove(arg string, o rmOptions) error {
	found, err := s.glob(arg)
	if o.force && wire.KindOf(err) == wire.NotFound && err != nil {
		return nil //nolint:nilerr // that it is not there is no error with --force
	}
	if err != nil {
		return err
	}
	for _, i := range found {
		if i.Dir && !o.recursive {
			return wire.Errorf(wire.Invalid, "%s is a directory: give -r", i.Path)
		}
		remove := s.Discard
		if o.skipTrash {
			remove = s.Remove
		}
		if err := remove(s.ctx, i.Path, o.recursive); err != nil {
			return err
		}
	}
	return nil
}

func (d *dfsCommand) newSetrep() *cobra.Command {
	return &cobra.Command{
		Use: "setrep COPIES PATH...", Short: "Change how many copies there are of files; of directories, of all files below",
		Example: "  millrace dfs setrep 2 dfs:/logs",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 {
				return fmt.Errorf("copies %q: must be a number above zero", args[0])
			}
			return d.with(cmd, func(s *session) error {
				found, err := s.globAll(args[1:])
				if err != nil {
					return err
				}
				for _, i := range found {
					if err := s.setrep(i, n); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (s *session) setrep(i wire.FileInfo, n int) error {
	if !i.Dir {
		return s.SetReplication(s.ctx, i.Path, n)
	}
	list, err := s.ListAll(s.ctx, i.Path)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := s.setrep(e, n); err != nil {
			return err
		}
	}
	return nil
}
