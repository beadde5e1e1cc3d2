package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/sim"
)

// takePolicy removes policy=NAME from the words of --set, and makes the policy once to test that it can be made.
func (o *labRun) takePolicy(words []string) (rest []string, err error) {
	for _, w := range words {
		name, isPolicy := strings.CutPrefix(w, "policy=")
		if !isPolicy {
			rest = append(rest, w)
			continue
		}
		s := simOptions{policies: []string{name}}
		if o.own != nil {
			return nil, errors.New("--set policy is given twice: one policy is run beside those of the experiment")
		}
		if err := s.namedArms(); err != nil {
			return nil, err
		}
		defer watchMemory(name, apartMemory)() // reading a script already runs it
		if err := s.arms[0].check(); err != nil {
			return nil, fmt.Errorf("--set policy=%s: %w", name, err)
		}
		o.own = &s.arms[0]
	}
	return rest, nil
}

// tryOwn runs the user's policy in experiments that let users watch two: on the cluster and with the jobs of the first.
func (o *labRun) tryOwn(cmd *cobra.Command, reports []lab.Report) (err error) {
	defer watchMemory("a run under "+o.own.name, 2*apartMemory)()
	for i := range reports {
		r := &reports[i]
		if len(r.Scenes) == 0 {
			err = errors.Join(err, fmt.Errorf("%s: --set policy: the experiment names no runs to watch, so that there is nothing to run %s beside; docs/play.md lists those that do", r.ID, o.own.name))
			continue
		}
		if ownErr := o.tryIn(cmd, r); ownErr != nil {
			err = errors.Join(err, fmt.Errorf("%s under %s: %w", r.ID, o.own.name, ownErr))
		}
	}
	return err
}

// tryIn runs the policy in one experiment, prints its result beside the others, and writes a player of it and the
// second.
func (o *labRun) tryIn(cmd *cobra.Command, r *lab.Report) error {
	scenes := append([]lab.Scene{}, r.Scenes...)
	own := ownScene(scenes[0], o.own)
	if slices.ContainsFunc(scenes, func(s lab.Scene) bool { return s.Name == own.Name }) {
		own.Name += " (2)"
	}
	scenes = append(scenes, own)
	t := newTable(cmd.OutOrStdout(), r.ID, "mean completion", "makespan", "maps on their node")
	var tapes []*play.Recording
	for _, s := range scenes {
		rec, err := playScene(s)
		if err != nil {
			return err
		}
		t.AppendRow(table.Row{s.Name, fmt.Sprintf("%.1f s", rec.Report["completion"]), fmt.Sprintf("%.0f s", rec.Report["makespan"]), fmt.Sprintf("%.1f %%", rec.Report["local"])})
		tapes = append(tapes, rec)
	}
	t.Render()
	if o.out == "" {
		return nil
	}
	var page bytes.Buffer
	if err := play.Write(&page, "../report.html#"+r.ID, r.ID+": "+r.Title, tapes[1:]...); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(o.out, "play"), 0o755); err != nil {
		return err
	}
	name := filepath.Join(o.out, "play", r.ID+"-own.html")
	fmt.Fprintf(cmd.ErrOrStderr(), "%s beside %s, decision by decision: %s\n", own.Name, tapes[1].Name, human.Printable(name))
	return writeWhole(name, page.String())
}

// ownScene returns a scene under another policy, with the same admission.
func ownScene(s lab.Scene, own *arm) lab.Scene {
	return lab.Scene{Name: own.name, Admission: s.Admission, Setup: func() (sim.Config, []*sim.Job, error) {
		cfg, jobs, err := s.Setup()
		if err != nil {
			return cfg, jobs, err
		}
		cfg.Policy, err = makePolicy(own)
		cfg.Stop = stopper(cfg.Stop, cfg.Policy)
		return cfg, jobs, err
	}}
}
