package cli

import (
	"bufio"
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
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/play"
)

// apartMemory is how much memory a run of the playground may use: a script can ask for any amount.
const apartMemory = 1 << 30

// playApart runs scenarios in a separate process, which a script may bring down. flags say what it does with them.
func playApart(flags ...string) play.Runner {
	return func(ctx context.Context, scenario []byte, tell func(play.Progress)) ([]byte, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		var said bytes.Buffer
		cmd := exec.CommandContext(ctx, self, append([]string{"play-run"}, flags...)...)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(scenario), &said
		cmd.Env = append(os.Environ(), "GOGC=400", fmt.Sprint("GOMEMLIMIT=", apartMemory/4*3)) // it is short-lived and has memory to spare
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, err
		}
		result, broken := readApart(out, tell)
		switch err := cmd.Wait(); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, errors.New(cmp.Or(strings.TrimPrefix(strings.TrimSpace(said.String()), "millrace: "), err.Error()))
		}
		return result, broken
	}
}

// apartLine is what the process writes before its result: its progress, or the length of the result that follows.
type apartLine struct {
	play.Progress
	Bytes *int `json:"bytes,omitempty"`
}

// readApart reads the output of the process.
func readApart(from io.Reader, tell func(play.Progress)) ([]byte, error) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("the run has ended without a result: %w", err)
		}
		var line apartLine
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, fmt.Errorf("the run says %.80q: %w", text, err)
		}
		if line.Bytes == nil {
			tell(line.Progress)
			continue
		}
		result, err := io.ReadAll(r)
		if err == nil && len(result) != *line.Bytes {
			err = fmt.Errorf("the run has given %d bytes of %d", len(result), *line.Bytes)
		}
		return result, err
	}
}

// newPlayRun returns the command that playApart starts.
func newPlayRun() *cobra.Command {
	var sweep bool
	var traces []string
	cmd := &cobra.Command{
		Use: "play-run", Hidden: true, Short: "Run one scenario of the playground: JSON in, recordings out", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			scenario, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxFile+1))
			if err != nil {
				return failed(err)
			}
			defer watchMemory("the run", apartMemory)()
			lines := json.NewEncoder(cmd.OutOrStdout())
			p := playing{traces: traces, tell: slowly(func(p play.Progress) { _ = lines.Encode(apartLine{Progress: p}) })} // if nobody reads, writing the result fails, too
			result, err := p.packed(cmd.Context(), scenario, sweep)
			if err != nil {
				return failed(err)
			}
			n := len(result)
			if err := lines.Encode(apartLine{Bytes: &n}); err != nil {
				return failed(err)
			}
			_, err = cmd.OutOrStdout().Write(result)
			return failed(err)
		},
	}
	cmd.Flags().BoolVar(&sweep, "sweep", false, "run every value of ranges, and say what each gave")
	cmd.Flags().StringArrayVar(&traces, "trace", nil, "a file that the scenario may name")
	return cmd
}

// slowly returns a tell that drops all but ten reports a second. Several goroutines may call it.
func slowly(tell func(play.Progress)) func(play.Progress) {
	var mu sync.Mutex // guards last, and lets one tell at a time
	last := time.Now()
	return func(p play.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= 100*time.Millisecond {
			last = now
			tell(p)
		}
	}
}

// watchMemory ends the process, naming what, when its memory exceeds the limit. It watches until stop is called.
func watchMemory(what string, limit uint64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		use := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if metrics.Read(use); use[0].Value.Uint64() > limit {
				fmt.Fprintf(os.Stderr, "millrace: %s needs more than %s of memory: take fewer jobs, or look at what the script keeps\n", what, human.Bytes(int64(limit)))
				os.Exit(exitFailed)
			}
		}
	}()
	return func() { close(done); <-ended }
}
