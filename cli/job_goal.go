package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// printGoal prints the goal of a job, whether it was met, and the policies' figures with explanations.
func printGoal(out io.Writer, s *wire.JobStatus, birth time.Time) {
	clock := func(ms int64) string { return birth.Add(time.Duration(ms) * time.Millisecond).Format(time.TimeOnly) }
	apart := func(ms int64) string { return human.Duration(time.Duration(max(ms, -ms)) * time.Millisecond) }
	if s.Deadline > 0 {
		fmt.Fprintf(out, "goal     to be done by %s, %s after its submission", clock(s.Deadline), apart(s.Allowed()))
		switch met := s.GoalMet(); {
		case met == nil:
		case *met:
			fmt.Fprintf(out, ": met, %s before", apart(s.Deadline-s.Ended))
		case s.State == wire.Succeeded:
			fmt.Fprintf(out, ": missed by %s", apart(s.Deadline-s.Ended))
		default:
			fmt.Fprintf(out, ": missed, the job is %s", s.State)
		}
		fmt.Fprintln(out)
	}
	for _, f := range s.Figures {
		ms := int64(f.Value * 1000)
		switch {
		case f.Name == "need-maps", f.Name == "need-reduces":
			fmt.Fprintf(out, "needs    %.4g containers for %s from now on, to meet its goal (%s)\n", f.Value, human.Printable(f.Name[len("need-"):]), human.Printable(f.Name))
		case f.Name == "forecast":
			fmt.Fprintf(out, "forecast done at %s, with the containers that it holds\n", clock(ms))
		case f.Name == "late" && ms > 0:
			fmt.Fprintf(out, "late     by %s, if so\n", apart(ms))
		case f.Name == "late":
			fmt.Fprintf(out, "late     no: %s before its goal, if so\n", apart(ms))
		default:
			fmt.Fprintf(out, "%-8s %.4g\n", human.Printable(f.Name), f.Value)
		}
	}
}
