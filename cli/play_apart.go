package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
)

// apartMemory is what a run of the playground may use: a script can ask for any amount.
const apartMemory = 1 << 30

// playApart runs a scenario in a process of its own, which a script may bring down.
func playApart(ctx context.Context, scenario []byte) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, self, "play-run")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(scenario), &out, &said
	cmd.Env = append(os.Environ(), "GOGC=400", fmt.Sprint("GOMEMLIMIT=", apartMemory/4*3)) // it is short, and has room
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errors.New(cmp.Or(strings.TrimPrefix(strings.TrimSpace(said.String()), "millrace: "), err.Error()))
	}
	return out.Bytes(), nil
}

// newPlayRun is the process that playApart starts.
func newPlayRun() *cobra.Command {
	return &cobra.Command{
		Use: "play-run", Hidden: true, Short: "Run one scenario of the playground: JSON in, recordings out", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			scenario, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxSimFile+1))
			if err != nil {
				return failed(err)
			}
			go watchMemory()
			tapes, err := playScenario(cmd.Context(), scenario)
			if err != nil {
				return failed(err)
			}
			return failed(json.NewEncoder(cmd.OutOrStdout()).Encode(tapes))
		},
	}
}

// watchMemory ends the process when it uses too much.
func watchMemory() {
	use := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(5 * time.Millisecond) {
		if metrics.Read(use); use[0].Value.Uint64() > apartMemory {
			fmt.Fprintf(os.Stderr, "the run needs more than %s of memory: take fewer jobs, or look at what the script keeps\n", human.Bytes(apartMemory))
			os.Exit(exitFailed)
		}
	}
}
