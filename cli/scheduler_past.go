package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// decisionOf maps the decisions in a job's history to the names of decisions.
var decisionOf = map[wire.PastKind]string{
	wire.PastAdmitted: "start", wire.PastLaunched: "launch", wire.PastStopped: "stop", wire.PastHeld: "hold",
}

// recall prints decisions about a job that the master no longer remembers, because they are old or from before its
// start. It takes them from the job's history.
func (o *decisionOptions) recall(cmd *cobra.Command, cl *client.Client) error {
	id := wire.JobID(o.job)
	var past []wire.Decision
	err := cl.Events(cmd.Context(), id, func(e *wire.PastEvent) { // ask the history first, so that the master has what it lacks
		if do := decisionOf[e.Kind]; do != "" && e.Text != "" {
			past = append(past, wire.Decision{At: e.At, Do: do, Job: id, Stage: e.Stage, Task: e.Task, Index: e.Index, Node: e.Node, Second: e.Second, Why: e.Text})
		}
	})
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: the history of %s is not to be had: %v\n", human.Printable(o.job), err)
	}
	page, err := cl.Decisions(cmd.Context(), wire.DecisionsRequest{Job: id})
	if err != nil {
		return err
	}
	past = unremembered(past, page.Decisions)
	switch {
	case len(past) > 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "note: the master does not remember the first %s about %s any more: from the job's history, without who else was eligible\n",
			human.Many(int64(len(past)), "decision"), human.Printable(o.job))
	case len(page.Decisions) == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "note: neither the master nor the history has a decision about %s\n", human.Printable(o.job))
	}
	for i := range past {
		if err := o.show(cmd.OutOrStdout(), &past[i]); err != nil {
			return err
		}
	}
	return nil
}

// unremembered returns the decisions of a history that are older than those that the master remembers. Some of the
// moment when these begin may be in both.
func unremembered(past, remembered []wire.Decision) []wire.Decision {
	if len(remembered) == 0 {
		return past
	}
	first := remembered[0].At
	return slices.DeleteFunc(past, func(d wire.Decision) bool {
		return d.At > first || d.At == first && slices.ContainsFunc(remembered, func(r wire.Decision) bool {
			return r.At == d.At && r.Do == d.Do && r.Stage == d.Stage && r.Task == d.Task && r.Index == d.Index && r.Node == d.Node
		})
	})
}
