package cli

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/scripthost"
)

// hostMemory is how much memory a cluster's script and its process may use: a master's machine needs memory for other
// things.
const hostMemory = 256 << 20

// scriptHost returns the process in which a master runs a script. It inherits only two pipes from the master.
func scriptHost() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "script-host")
	cmd.Env, cmd.Dir = []string{fmt.Sprint("GOMEMLIMIT=", hostMemory/4*3), "GOMAXPROCS=2"}, os.TempDir()
	return cmd, nil
}

// newScriptHost returns the command of that process.
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
