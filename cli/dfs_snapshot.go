package cli

import (
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
)

func (d *dfsCommand) newSnapshot() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot", Short: "Keep what is in a directory as it is now, to read it later",
		Long: `Keep what is in a directory as it is now. A snapshot is read as DIR/.snapshot/NAME; nothing in it can be changed. It
takes no room on disks while the files are still there, but counts for the quota of the directory's owner. Files that are
being written are not in it.`,
		Example: "  millrace dfs snapshot create dfs:/project monday\n  millrace dfs cat dfs:/project/.snapshot/monday/notes.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("dfs snapshot needs a command: create, ls or rm")
			}
			return fmt.Errorf("unknown command %q: create, ls or rm", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(d.newSnapshotCreate(), d.newSnapshotLs(), d.newSnapshotRm())
	return cmd
}

func (d *dfsCommand) newSnapshotCreate() *cobra.Command {
	return &cobra.Command{
		Use: "create DIR [NAME]", Short: "Make a snapshot of a directory; its name is the time if none is given",
		Example: "  millrace dfs snapshot create dfs:/project monday",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := time.Now().Format("20060102-150405")
			if len(args) == 2 {
				name = args[1]
			}
			return d.with(cmd, func(s *session) error {
				dir, err := s.path(args[0])
				if err == nil {
					err = s.Snapshot(s.ctx, dir, name)
				}
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), human.Printable(path.Join(dir, ".snapshot", name)))
				}
				return err
			})
		},
	}
}

func (d *dfsCommand) newSnapshotLs() *cobra.Command {
	return &cobra.Command{
		Use: "ls DIR", Short: "List the snapshots of a directory",
		Example: "  millrace dfs snapshot ls dfs:/project",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				dir, err := s.path(args[0])
				if err != nil {
					return err
				}
				list, err := s.ListAll(s.ctx, path.Join(dir, ".snapshot"))
				for _, i := range list {
					fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s\n", when(i.ModTime), userText(i), human.Printable(path.Base(i.Path)))
				}
				return err
			})
		},
	}
}

func (d *dfsCommand) newSnapshotRm() *cobra.Command {
	return &cobra.Command{
		Use: "rm DIR NAME", Short: "Remove a snapshot of a directory; there is no way back",
		Example: "  millrace dfs snapshot rm dfs:/project monday",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				dir, err := s.path(args[0])
				if err == nil {
					err = s.RemoveSnapshot(s.ctx, dir, args[1])
				}
				return err
			})
		},
	}
}
