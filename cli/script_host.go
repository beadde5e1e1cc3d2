package cli

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/scripthost"
)

// hostMemory is what a script of a cluster may use, and what it runs in: a master's machine has other things to keep.
const hostMemory = 256 << 20

// scriptHost is the process in which a master runs a script. It gets nothing of the master's but two pipes.
func scriptHost() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "script-host")
	cmd.Env, cmd.Dir = []string{fmt.Sprint("GOMEMLIMIT=", hostMemory/4*3), "GOMAXPROCS=2"}, os.TempDir()
	return cmd, nil
}

// newScriptHost is that process.
func newScriptHost() *cobra.Command {
	return &cobra.Command{
		Use: "script-host", Hidden: true, Short: "Answer for a policy's script: questions in, answers out", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer watchMemory("the script", hostMemory)()
			return failed(scripthost.Serve(cmd.InOrStdin(), cmd.OutOrStdout(), func(why string) {
				fmt.Fprintln(os.Stderr, "millrace:", why)
				os.Exit(exitFailed)
			}))
		},
	}
}
