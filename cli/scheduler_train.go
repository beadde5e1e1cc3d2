package cli

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/trace"
)

// trainOptions are the flags of scheduler train.
type trainOptions struct {
	history, out, dir string
	scale             float64
	points            int
	seed              uint64
	asJSON            bool
}

func newSchedulerTrain() *cobra.Command {
	var o trainOptions
	cmd := &cobra.Command{
		Use: "train hybrid", Short: "Train the classifier of hybrid with the jobs of a history, and store it",
		Long: `Train the classifier that tells hybrid which jobs are small: a support vector machine over maps, reduces and
shuffle bytes, whose parameters are found by cross-validation. The label rule (docs/policies/hybrid.md) says of each job
in the history whether it was small; --scale moves its border, as the parameter of that name does.

With --dir, the directory of a master, hybrid uses it on that cluster from the next start of the master or the
next millrace scheduler set hybrid; millrace scheduler get says so. A parameter model goes before it, also an empty one,
which stands for the rule.`,
		Example: `  millrace job history --export week.jsonl
  millrace scheduler train hybrid --history week.jsonl --scale 0.001 --dir .cluster/master
  millrace scheduler set hybrid --param scale=0.001`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != hybrid.Info.Name {
				return fmt.Errorf("train hybrid: no other policy is trained")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.history, "history", "", "history file, or a directory of such files (*.jsonl); millrace job history --export writes one")
	f.StringVar(&o.out, "out", master.TrainedFile, "file to write the classifier to")
	f.StringVar(&o.dir, "dir", "", "directory of a master, in which it is stored in place of --out")
	f.Float64Var(&o.scale, "scale", 1, "crosspoint of the label rule relative to the measured one; more jobs are small")
	f.IntVar(&o.points, "points", 2000, "jobs to train with at most, drawn from the history; more: better, slower and larger")
	f.Uint64Var(&o.seed, "seed", 1, "seed of what is drawn and of cross-validation")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	return cmd
}

func (o *trainOptions) check() error {
	if o.history == "" {
		return fmt.Errorf("no history: give --history FILE or DIRECTORY (millrace job history --export FILE writes one)")
	}
	if !(o.scale > 0 && o.scale <= 1e6) {
		return fmt.Errorf("--scale is %g, must be above 0 and at most 1000000", o.scale)
	}
	if o.points < 20 || o.points > 10_000 {
		return fmt.Errorf("--points is %d, must be in 20..10000", o.points)
	}
	return nil
}

// trainReport is what is printed.
type trainReport struct {
	Jobs     int     `json:"jobs"`
	Small    int     `json:"small"`
	Accuracy float64 `json:"accuracy"` // in cross-validation
	Vectors  int     `json:"support_vectors"`
	File     string  `json:"file"`
}

func (o *trainOptions) run(cmd *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	samples, err := o.samples()
	if err != nil {
		return failed(err)
	}
	r := trainReport{Jobs: len(samples), File: o.out}
	for _, s := range samples {
		if s.Small {
			r.Small++
		}
	}
	if err := o.fits(&r); err != nil {
		return failed(err)
	}
	cfg := hybrid.DefaultTrainConfig()
	cfg.GridPoints, cfg.FitPoints = min(cfg.GridPoints, o.points), min(cfg.FitPoints, o.points)
	c, accuracy, err := hybrid.Train(rand.New(rand.NewPCG(o.seed, 3)), samples, cfg)
	if err != nil {
		return failed(err)
	}
	r.Accuracy, r.Vectors = accuracy, len(c.Model.Vectors)
	c.Trained, c.Jobs = time.Now().UTC().Format(time.DateOnly), r.Jobs
	if o.dir != "" {
		r.File = filepath.Join(o.dir, master.TrainedFile)
	}
	if err := store(c, r.File); err != nil {
		return failed(err)
	}
	if o.asJSON {
		return printJSON(cmd, r)
	}
	r.print(cmd.OutOrStdout(), o.dir != "")
	return nil
}

// fits refuses a history that is too small to train with.
func (o *trainOptions) fits(r *trainReport) error {
	least := 2 * hybrid.DefaultTrainConfig().Grid.Folds
	switch large := r.Jobs - r.Small; {
	case r.Jobs == 0:
		return fmt.Errorf("%s: no job in it has succeeded: there is nothing to learn from", o.history)
	case min(r.Small, large) < least:
		return fmt.Errorf("%s: %d small jobs and %d large ones, and it takes %d of each: give a longer history, or another --scale (more: more are small)", o.history, r.Small, large, least)
	}
	return nil
}

// samples returns the successful jobs of the history, with their labels.
func (o *trainOptions) samples() (out []hybrid.Sample, err error) {
	files := []string{o.history}
	if s, err := os.Stat(o.history); err != nil {
		return nil, err
	} else if s.IsDir() {
		if files, err = filepath.Glob(filepath.Join(o.history, "*.jsonl")); err != nil {
			return nil, err
		}
		if slices.Sort(files); len(files) == 0 {
			return nil, fmt.Errorf("%s: no *.jsonl in this directory (millrace job history --export FILE.jsonl writes one)", o.history)
		}
	}
	for _, name := range files {
		t, err := readTraces("", name)
		if err != nil {
			return nil, err
		}
		if t.History == nil {
			return nil, fmt.Errorf("%s: a trace of sizes has no tasks; give a history (millrace job history --export FILE writes one)", name)
		}
		rule := hybrid.Rule{Scale: o.scale}
		for i := range t.History.Jobs {
			if j := &t.History.Jobs[i]; j.State == trace.JobDone || j.State == "" {
				input := j.InputBytes
				if j.Expect != nil && j.Expect.InputBytes > 0 { // its maps may make what they read
					input = j.Expect.InputBytes
				}
				out = append(out, hybrid.Sample{Maps: int(j.Maps), Reduces: int(j.Reduces), Shuffle: float64(j.ShuffleBytes), Small: rule.Small(float64(input), float64(j.ShuffleBytes))})
			}
		}
	}
	return out, nil
}

// store writes a classifier, replacing an older one.
func store(c *hybrid.Trained, name string) error {
	text, err := c.Text()
	if err != nil {
		return err
	}
	if len(text) > master.MaxTrained {
		return fmt.Errorf("the classifier takes %s, and a master reads at most %s: train with fewer --points", human.Bytes(int64(len(text))), human.Bytes(master.MaxTrained))
	}
	return writeWhole(name, text)
}

func (r *trainReport) print(w io.Writer, stored bool) {
	fmt.Fprintf(w, "%s: %d small, %d large; cross-validation has %.1f %% right; %s\n",
		human.Many(int64(r.Jobs), "job"), r.Small, r.Jobs-r.Small, 100*r.Accuracy, human.Many(int64(r.Vectors), "support vector"))
	if stored {
		fmt.Fprintf(w, "%s is used from the next start of the master, or now: millrace scheduler set hybrid\n", human.Printable(r.File))
		return
	}
	fmt.Fprintf(w, "written to %s; a master with it in its directory uses it\n", human.Printable(r.File))
}
