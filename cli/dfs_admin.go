package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

func (d *dfsCommand) newFsck() *cobra.Command {
	var all, blocks, asJSON bool
	cmd := &cobra.Command{
		Use:   "fsck [PATH]",
		Short: "Report the health of files; exit code 1 if one is not whole",
		Long: `Report the health of files. Of those that are not healthy it says what is wrong:

  under      fewer copies than wanted; the store is making them
  over       more copies than wanted; the store is removing some
  misplaced  all copies in one rack; the store is moving one
  open       being written
  corrupt    all copies are damaged
  missing    no live node has a copy

Exit code 1 if a file is corrupt or missing, or a block has too few copies.`,
		Example: "  millrace dfs fsck dfs:/ --blocks",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"/"}
			}
			return d.with(cmd, func(s *session) error {
				p, err := s.path(args[0])
				if err != nil {
					return err
				}
				sum, err := s.fsck(p, all || blocks && asJSON)
				if err != nil {
					return err
				}
				return sum.finish(cmd, p, blocks, asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "healthy files too")
	f.BoolVar(&blocks, "blocks", false, "also where the blocks of these files are")
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// fsckSummary is the whole report.
type fsckSummary struct {
	wire.FsckResponse
	Healthy bool `json:"healthy"`
	Open    int  `json:"open"`
}

// fsck collects the pages of the report.
func (s *session) fsck(p string, all bool) (sum fsckSummary, err error) {
	sum.Files = []wire.FsckFile{}
	for after := ""; ; {
		page, err := s.Fsck(s.ctx, wire.FsckRequest{Path: p, After: after, All: all})
		if err != nil {
			return sum, err
		}
		sum.Files = append(sum.Files, page.Files...)
		sum.Scanned, sum.Blocks, sum.Bytes = sum.Scanned+page.Scanned, sum.Blocks+page.Blocks, sum.Bytes+page.Bytes
		sum.Under, sum.Over = sum.Under+page.Under, sum.Over+page.Over
		sum.Missing, sum.Corrupt = sum.Missing+page.Missing, sum.Corrupt+page.Corrupt
		if after = page.Last; !page.More {
			break
		}
	}
	for _, f := range sum.Files {
		if f.Status == "open" {
			sum.Open++
		}
	}
	sum.Healthy = sum.Under+sum.Missing+sum.Corrupt == 0
	return sum, nil
}

func (sum *fsckSummary) finish(cmd *cobra.Command, p string, blocks, asJSON bool) error {
	if asJSON {
		if err := printJSON(cmd, sum); err != nil {
			return err
		}
	} else {
		sum.print(cmd.OutOrStdout(), p, blocks)
	}
	if !sum.Healthy {
		return &failure{}
	}
	return nil
}

func (sum *fsckSummary) print(w io.Writer, p string, blocks bool) {
	for _, f := range sum.Files {
		fmt.Fprintf(w, "%s: %s", human.Printable(f.Path), f.Status)
		if f.Problem != "" {
			fmt.Fprintf(w, ": %s", human.Printable(f.Problem))
		}
		fmt.Fprintln(w)
		for _, b := range f.Blocks {
			if blocks {
				fmt.Fprintf(w, "  %s generation %d, %d bytes: on %v of %d, damaged on %v\n", b.ID, b.Gen, b.Len, b.Live, b.Want, b.Corrupt)
			}
		}
	}
	fmt.Fprintf(w, "%s, %s, %s: %s with too few copies, %d with too many, %d corrupt, %d missing; %s open\n",
		human.Many(int64(sum.Scanned), "file"), human.Many(int64(sum.Blocks), "block"), human.Bytes(sum.Bytes), human.Many(int64(sum.Under), "block"), sum.Over, sum.Corrupt,
		sum.Missing, human.Many(int64(sum.Open), "file"))
	state := "HEALTHY"
	if sum.Missing+sum.Corrupt > 0 {
		state = "CORRUPT"
	} else if !sum.Healthy {
		state = "UNDER-REPLICATED"
	}
	fmt.Fprintf(w, "Status of %s: %s\n", human.Printable(p), state)
}

func (d *dfsCommand) newSafemode() *cobra.Command {
	var timeout time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use: "safemode get|enter|leave|wait", Short: "Ask about safe mode, enter or leave it, or wait for its end",
		Example: "  millrace dfs safemode wait --timeout 1m",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "get" || args[0] == "enter" || args[0] == "leave" || args[0] == "wait") {
				return nil
			}
			return errors.New("safemode: give one of get, enter, leave, wait")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				set := args[0]
				if set == "get" || set == "wait" {
					set = ""
				}
				mode, err := s.SafeMode(s.ctx, set)
				if err == nil && args[0] == "wait" {
					mode, err = s.awaitSafe(mode, timeout)
				}
				return answer(cmd, asJSON, mode, err, printSafeMode)
			})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long safemode wait waits")
	return withJSON(cmd, &asJSON, "a JSON object")
}

// awaitSafe waits for the end of safe mode.
func (s *session) awaitSafe(mode wire.SafeMode, timeout time.Duration) (wire.SafeMode, error) {
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	for mode.On {
		select {
		case <-ctx.Done():
			return mode, fmt.Errorf("safe mode is still on after %s: %s", timeout, mode.Why)
		case <-time.After(pollEvery):
		}
		var err error
		if mode, err = s.SafeMode(s.ctx, ""); err != nil {
			return mode, err
		}
	}
	return mode, nil
}

// pollEvery is how often waiting commands check again.
const pollEvery = 200 * time.Millisecond

func (d *dfsCommand) newBalance() *cobra.Command {
	var threshold float64
	var stop, status, asJSON bool
	cmd := &cobra.Command{
		Use:   "balance",
		Short: "Move replicas from full nodes to empty ones until all are about equally full",
		Long: `Move replicas from full nodes to empty ones, and wait until all nodes are within the threshold of the mean, in
percent of their space, or nothing more can be moved. Balancing goes on after an interrupt; --stop ends it.`,
		Example: "  millrace dfs balance --threshold 5",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if threshold <= 0 || threshold >= 100 {
				return fmt.Errorf("--threshold is %g, must be a percentage above 0 and below 100", threshold)
			}
			return d.with(cmd, func(s *session) error {
				r := wire.BalanceRequest{Set: "start", Threshold: threshold / 100}
				if stop {
					r.Set = "stop"
				} else if status {
					r.Set = ""
				}
				b, err := s.Balance(s.ctx, r)
				for err == nil && b.Running && r.Set == "start" {
					select {
					case <-s.ctx.Done():
						return errors.New("interrupted; the balancing goes on (millrace dfs balance --stop ends it)")
					case <-time.After(pollEvery):
					}
					b, err = s.Balance(s.ctx, wire.BalanceRequest{})
				}
				return answer(cmd, asJSON, b, err, printBalance)
			})
		},
	}
	f := cmd.Flags()
	f.Float64Var(&threshold, "threshold", 10, "how far a node may be from the mean, in percent of its space")
	f.BoolVar(&status, "status", false, "only print how far it has come")
	f.BoolVar(&stop, "stop", false, "stop")
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func printSafeMode(w io.Writer, m wire.SafeMode) {
	if m.On {
		fmt.Fprintf(w, "Safe mode is ON: %s\n", human.Printable(m.Why))
	} else {
		fmt.Fprintln(w, "Safe mode is OFF")
	}
}

func printBalance(w io.Writer, b wire.BalanceStatus) {
	state := "not running"
	if b.Running {
		state = "running"
	} else if b.Why != "" {
		state = "ended: " + b.Why
	}
	fmt.Fprintf(w, "balancing is %s; %d replicas moved, %s; the nodes are %.1f %% full, the worst is %.1f away from that\n",
		state, b.Moved, human.Bytes(b.Bytes), 100*b.Mean, 100*b.Worst)
}
