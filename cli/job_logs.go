package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// logOptions are the flags of job logs.
type logOptions struct {
	task    string
	attempt int
	tail    int
	follow  bool
	asJSON  bool
}

func newJobLogs(m *masterFlags) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use: "logs JOB", Short: "Print what attempts of a job have printed, wherever they ran",
		Long: `Print what attempts of a job have printed, wherever they ran. Without --task: the driver, and
attempts that failed or were lost. Only the job's owner and administrators may.`,
		Example: `  millrace job logs job-3
  millrace job logs job-3 --task map:7 --tail 20
  millrace job logs job-3 --task reduce:0 --follow
  millrace job logs job-3 --task 2/map:0 --attempt 1      (the first try of a map of the second stage)`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := o.request(wire.JobID(args[0]))
			if err != nil {
				return err
			}
			return withClient(m, func(cl *client.Client) error { return o.print(cmd, cl, req) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.task, "task", "", "the task: map:N, reduce:N or driver, with STAGE/ before it in a chain")
	f.IntVar(&o.attempt, "attempt", 0, "which try of the task, from 1; 0 for all")
	f.IntVar(&o.tail, "tail", 0, "only the last lines of each; 0 for all")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on printing while the attempt runs; wants --task")
	f.BoolVar(&o.asJSON, "json", false, "print a list of the attempts with their logs")
	return cmd
}

func (o *logOptions) request(id wire.JobID) (r wire.AttemptsRequest, err error) {
	r.Job = id
	switch {
	case o.attempt < 0 || o.tail < 0:
		return r, fmt.Errorf("--attempt %d and --tail %d must not be negative", o.attempt, o.tail)
	case o.task == "" && (o.follow || o.attempt > 0):
		return r, errors.New("--follow and --attempt want a --task, such as map:3")
	case o.follow && o.asJSON:
		return r, errors.New("--follow and --json do not go together")
	case o.task == "":
		return r, nil
	}
	bad := fmt.Errorf("--task %q: must be map:N, reduce:N or driver, with STAGE/ before it in a chain of jobs", o.task)
	rest := o.task
	if stage, after, ok := strings.Cut(o.task, "/"); ok {
		n, err := strconv.Atoi(stage)
		if err != nil || n < 1 {
			return r, bad
		}
		r.Stage, rest = n-1, after
	}
	kind, index, numbered := strings.Cut(rest, ":")
	r.Task = wire.TaskKind(kind)
	if r.Task == wire.DriverTask && !numbered {
		return r, nil
	}
	n, err := strconv.ParseInt(index, 10, 32)
	if (r.Task != wire.MapTask && r.Task != wire.ReduceTask) || err != nil || n < 0 {
		return r, bad
	}
	r.Index = int32(n)
	return r, nil
}

// An attemptLog is what --json prints for each attempt.
type attemptLog struct {
	wire.PastAttempt
	Log   string `json:"log"`
	Error string `json:"log_error,omitempty"`
}

func (o *logOptions) print(cmd *cobra.Command, cl *client.Client, req wire.AttemptsRequest) error {
	list, err := cl.Attempts(cmd.Context(), req)
	if err != nil {
		return err
	}
	if o.attempt > 0 {
		list = pickTry(list, o.attempt)
	}
	if o.follow && len(list) > 1 {
		list = list[len(list)-1:]
	}
	if len(list) == 0 {
		return o.none(req)
	}
	if o.asJSON {
		return o.printJSON(cmd, cl, req.Job, list)
	}
	failures := 0
	for i, a := range list {
		if len(list) > 1 {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			fmt.Fprintf(cmd.OutOrStdout(), "==> %s try %d on %s %s <==\n", taskName(a.Stage+1, a), a.Number+1, a.Node, a.How)
		}
		if err := o.copy(cmd.Context(), cl, console.Shown(cmd.OutOrStdout()), idOf(req.Job, a)); err != nil {
			if len(list) == 1 {
				return err
			}
			failures++
			fmt.Fprintf(cmd.ErrOrStderr(), "millrace: %s\n", human.ErrorText(err))
		}
	}
	if failures == len(list) {
		return errors.New("none of the logs can be read")
	}
	return nil
}

func (o *logOptions) none(r wire.AttemptsRequest) error {
	if r.Task == "" {
		return fmt.Errorf("nothing of %s has started yet; --task map:0 picks a task", r.Job)
	}
	return fmt.Errorf("%s has no such attempt of %s (millrace job history %s shows its tasks)", r.Job, o.task, r.Job)
}

// pickTry returns try number n of a task, counted from 1 in the order of the list: after a restart of the master the
// numbers of tries begin again.
func pickTry(list []wire.PastAttempt, n int) []wire.PastAttempt {
	if n > len(list) {
		return nil
	}
	return list[n-1 : n]
}

func idOf(job wire.JobID, a wire.PastAttempt) wire.AttemptID {
	return wire.AttemptID{Job: job, Stage: a.Stage, Kind: a.Task, Index: a.Index, Try: a.Try}
}

func (o *logOptions) printJSON(cmd *cobra.Command, cl *client.Client, job wire.JobID, list []wire.PastAttempt) error {
	out := make([]attemptLog, len(list))
	for i, a := range list {
		var b bytes.Buffer
		out[i].PastAttempt = a
		if err := o.copy(cmd.Context(), cl, &b, idOf(job, a)); err != nil {
			out[i].Error = err.Error()
		}
		out[i].Log = b.String()
	}
	return printJSON(cmd, out)
}

// followEvery is how often a growing log is fetched.
const followEvery = 300 * time.Millisecond

// tailBytes is how much of the end of a log is fetched to find its last lines.
const tailBytes = 1 << 20

// copy prints the log of one attempt, with follow until the attempt ends.
func (o *logOptions) copy(ctx context.Context, cl *client.Client, w io.Writer, id wire.AttemptID) error {
	r := wire.LogRequest{ID: id}
	if o.tail > 0 {
		r.Tail = tailBytes
	}
	ended := false
	for {
		got, err := cl.Log(ctx, r)
		if err != nil {
			return err
		}
		text := got.Text
		if r.Tail > 0 {
			text = lastLines(text, o.tail)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		r.From, r.Tail = got.Next, 0
		switch {
		case got.More:
			continue
		case !o.follow || ended:
			return nil
		}
		// Its last output may come after the answer that it has ended.
		ended = !got.Open
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lastLines returns the last n lines.
func lastLines(b []byte, n int) []byte {
	at := len(bytes.TrimSuffix(b, []byte("\n")))
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(b[:at], '\n')
	}
	return b[at+1:]
}
