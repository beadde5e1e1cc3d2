package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/trace"
	"github.com/millrace/millrace/trace/formats"
)

// newChange returns a command that reads a trace of any format, changes it, and writes it to standard output: a SWIM
// trace in that format, all others as a history, unless --to says otherwise.
func newChange(cmd *cobra.Command, check func() error, change func(*trace.History) (*trace.History, error)) *cobra.Command {
	var to formatFlag
	cmd = onTraces(cmd, func(out io.Writer, t *formats.Trace) error {
		h, err := change(t.Past())
		if err != nil {
			return err
		}
		if len(h.Jobs) == 0 {
			return failed(errors.New("no job is left: take more of the trace"))
		}
		if to.name == "" && t.Format == formats.SWIM {
			to.name = formats.SWIM
		}
		return writeTrace(out, to.name, &formats.Trace{History: h})
	})
	files := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error { return cmp.Or(files(cmd, args), check()) }
	toFlag(cmd, &to, "swim for a SWIM trace, else history")
	return cmd
}

func newTraceCut() *cobra.Command {
	var begin, end time.Duration
	var most int
	cmd := newChange(&cobra.Command{
		Use: "cut FILE...", Short: "Keep the jobs that came between two times, at most so many",
		Example: "  millrace trace cut day.history --begin 9h --end 10h > hour.history",
	}, func() error {
		if begin < 0 || end <= begin || most < 0 {
			return fmt.Errorf("--begin %v, --end %v, --jobs %d: the end must come after the beginning, and no number may be negative", begin, end, most)
		}
		return nil
	}, func(h *trace.History) (*trace.History, error) { return h.Cut(begin, end, most), nil })
	cmd.Flags().DurationVar(&begin, "begin", 0, "first time of submission, since the beginning of the trace")
	cmd.Flags().DurationVar(&end, "end", math.MaxInt64, "time of submission before which jobs are kept (default: all that follow)")
	cmd.Flags().Lookup("end").DefValue = "0s" // the number of nanoseconds would say nothing
	cmd.Flags().IntVar(&most, "jobs", 0, "keep at most so many; 0 means all")
	return cmd
}

func newTraceScale() *cobra.Command {
	var f trace.Factors
	cmd := newChange(&cobra.Command{
		Use: "scale FILE...", Short: "Multiply times of arrival, times of tasks, and sizes",
		Example: "  millrace trace scale day.history --arrivals 0.5 > twice-the-load.history",
	}, f.Validate, func(h *trace.History) (*trace.History, error) { return h.Scale(f) })
	cmd.Flags().Float64Var(&f.Arrivals, "arrivals", 1, "factor on the times at which jobs come: 0.5 doubles the load")
	cmd.Flags().Float64Var(&f.Tasks, "tasks", 1, "factor on how long tasks take and jobs wait")
	cmd.Flags().Float64Var(&f.Bytes, "bytes", 1, "factor on all sizes")
	return cmd
}

func newTraceSample() *cobra.Command {
	var share float64
	var seed uint64
	cmd := newChange(&cobra.Command{
		Use: "sample FILE...", Short: "Keep a random share of the jobs",
		Example: "  millrace trace sample day.history --share 0.1 --seed 7 > tenth.history",
	}, func() error {
		if !(share > 0 && share <= 1) {
			return fmt.Errorf("--share is %g, must be above 0 and at most 1", share)
		}
		return nil
	}, func(h *trace.History) (*trace.History, error) {
		return h.Sample(share, rand.New(rand.NewPCG(seed, 1))), nil
	})
	cmd.Flags().Float64Var(&share, "share", 0.1, "which share, in 0..1")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed: the same seed keeps the same jobs")
	return cmd
}

func newTraceAnonymise() *cobra.Command {
	return newChange(&cobra.Command{
		Use: "anonymise FILE...", Short: "Replace ids and names of jobs, users, queues, pools and machines by numbers",
		Long: `Replace ids and names of jobs, users, queues, pools and machines by numbers in the order in which they come.
Times, sizes and who belongs to whom stay: who knows when a user's jobs ran can still find that user. Paths and parameters of policies are left out.`,
		Example: "  millrace trace anonymise day.history > day-to-share.history",
	}, func() error { return nil }, func(h *trace.History) (*trace.History, error) { return h.Anonymise(), nil })
}
