package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/procs"
)

func newClusterStatus() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Print the state of a cluster on this machine",
		Example: "  millrace cluster status --dir .cluster",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := readCluster(dir)
			if err != nil {
				return failed(err)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "master %s, %s\n", c.Master, upOrDown(c.daemon, masterLock(dir)))
			for _, w := range c.Workers {
				fmt.Fprintf(out, "%s in rack %s, %s\n", w.Name, w.Rack, upOrDown(w.daemon, workerLock(dir, w.Name)))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", defaultClusterDir, "directory of the cluster")
	return cmd
}

// upOrDown describes a daemon's process: the one that was started, or the one that has since taken its directory.
func upOrDown(d daemon, lock string) string {
	if now := disk.Holder(lock); now > 0 {
		d = daemon{PID: now}
	}
	if procs.Alive(d.pid()) {
		return fmt.Sprintf("process %d, running", d.PID)
	}
	return fmt.Sprintf("process %d, not running", d.PID)
}

// masterLock and workerLock are the files that a daemon of a cluster holds locked while it runs.
func masterLock(dir string) string { return filepath.Join(dir, "master", "names", "checkpoint.db") }

func workerLock(dir, name string) string { return filepath.Join(dir, name, "lock") }

func newClusterDown() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "down",
		Short:   "Stop a cluster on this machine; its files stay",
		Example: "  millrace cluster down --dir .cluster",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := readCluster(dir)
			if err != nil {
				return failed(err)
			}
			if err := stopCluster(dir, c, 10*time.Second); err != nil {
				return failed(err)
			}
			if err := os.Remove(clusterPath(dir)); err != nil {
				return failed(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "cluster in %s is stopped; %s\n", human.Printable(dir), comesBack(dir))
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", defaultClusterDir, "directory of the cluster")
	return cmd
}

// comesBack returns which parts of a stopped cluster can be restored.
func comesBack(dir string) string {
	if _, err := os.Stat(masterLock(dir)); errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("%s is gone, and with it the names of its files and its jobs: they do not come back", human.Printable(filepath.Join(dir, "master")))
	}
	return fmt.Sprintf("millrace cluster up --dir %s brings it back with its files and jobs", human.Printable(dir))
}

// stopCluster ends the workers, then the master, politely first: those that it started, and those that have since taken
// their directories.
func stopCluster(dir string, c clusterFile, patience time.Duration) error {
	var workers []int
	for _, w := range c.Workers {
		workers = append(workers, w.pid(), disk.Holder(workerLock(dir, w.Name)))
	}
	master := []int{c.pid(), disk.Holder(masterLock(dir))}
	var errs []error
	for _, group := range [][]int{workers, master} {
		for _, pid := range group {
			if pid > 0 {
				procs.Stop(pid)
			}
		}
		for _, pid := range group {
			errs = append(errs, waitGone(pid, patience))
		}
	}
	return errors.Join(errs...)
}

func waitGone(pid int, patience time.Duration) error {
	for end := time.Now().Add(patience); pid > 0 && !procs.Ended(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			if err := procs.Kill(pid); err != nil {
				return err
			}
			end = time.Now().Add(patience)
		}
	}
	return nil
}
