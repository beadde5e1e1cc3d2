package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
)

func newRepair() *cobra.Command {
	var dir string
	var yes bool
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Look for damage in the journals and the checkpoint of a stopped master, and with --yes cut it out",
		Long: `Look for damage in the journals and the checkpoint of a stopped master. A master refuses to start on a damaged journal,
because whatever follows the damage would be lost. This command says what that is; with --yes it cuts the journal there. Of a
checkpoint it gives up the damaged entries; what was in a lost directory goes to /lost+found-ID. A checkpoint that
is damaged beyond that is made anew from the journal, if that has its first record. What is cut stays beside it, in files that
end in .damaged and .lost. Exit code 1 if there is damage that was not repaired.`,
		Example: `  millrace dfs repair --dir /var/lib/millrace/master
  millrace dfs repair --dir /var/lib/millrace/master --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return errors.New("repair: give the master's directory with --dir")
			}
			return failed(repairJournals(cmd, dir, yes))
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the master (required)")
	cmd.Flags().BoolVar(&yes, "yes", false, "repair, and give up what the command says is lost")
	return cmd
}

func repairJournals(cmd *cobra.Command, dir string, yes bool) error {
	if err := notInUse(filepath.Join(dir, "names", "checkpoint.db")); err != nil {
		return err
	}
	var errs []error
	for _, part := range []string{"names", "jobs"} {
		if _, err := os.Stat(filepath.Join(dir, part, "journal")); errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: there is no journal\n", part)
			continue
		}
		errs = append(errs, repairJournal(cmd, filepath.Join(dir, part), part, yes))
	}
	if err := errors.Join(errs...); err != nil {
		return err // the checkpoint is read together with the journal after it
	}
	return repairCheckpoint(cmd, filepath.Join(dir, "names"), yes)
}

func repairCheckpoint(cmd *cobra.Command, dir string, yes bool) error {
	root, err := disk.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	loss, err := names.Salvage(names.Config{Disk: root, Checkpoint: filepath.Join(dir, "checkpoint.db")}, yes)
	switch {
	case err != nil:
		return err
	case loss == nil:
		fmt.Fprintln(cmd.OutOrStdout(), "names: the checkpoint is whole")
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "names: %s\n", loss)
	if !yes {
		return errors.New("names: the checkpoint is damaged; --yes repairs it")
	}
	fmt.Fprintln(cmd.OutOrStdout(), "names: repaired; the old checkpoint is checkpoint.db.damaged")
	return nil
}

func repairJournal(cmd *cobra.Command, dir, part string, yes bool) error {
	root, err := disk.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	look := journal.Inspect
	if yes {
		look = journal.Repair
	}
	loss, err := look(root, "journal")
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", part, err)
	case loss == nil:
		fmt.Fprintf(cmd.OutOrStdout(), "%s: the journal is whole\n", part)
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", part, loss)
	if !yes {
		return fmt.Errorf("%s: the journal is damaged; --yes repairs it", part)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: repaired\n", part)
	return nil
}

// notInUse returns an error if a master uses the directory: it then holds a lock on this file.
func notInUse(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: is this the directory of a master?", err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	free, err := disk.TryLock(f, false)
	if err == nil && !free {
		return fmt.Errorf("a master is running on %s: stop it first", filepath.Dir(filepath.Dir(name)))
	}
	return err
}
