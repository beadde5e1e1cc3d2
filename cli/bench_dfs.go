package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/bench"
	"github.com/millrace/millrace/bench/dfsbench"
)

// runDFSBench measures the block store and prints its table.
func runDFSBench(cmd *cobra.Command, s bench.Setup, only []string, asJSON bool) error {
	setup := dfsbench.Setup{Self: s.Self, Dir: filepath.Join(s.Dir, "dfs"), Size: s.Size, Rounds: s.Rounds}
	rows, err := dfsbench.Run(cmd.Context(), setup, only, announce(cmd))
	return showRows(cmd, "dfs", rows, err, asJSON)
}
