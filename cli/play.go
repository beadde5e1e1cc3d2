package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim/compare"
)

func newPlay() *cobra.Command {
	var listen, out string
	cmd := &cobra.Command{
		Use: "play [FILE]", Short: "Watch scheduling decision by decision in the browser, and try policies against each other",
		Long: `Watch scheduling decision by decision in the browser: who gets the next container, why, and who else waited.

Without a file the page is a playground: choose a workload, a cluster and two policies with their parameters, run, watch,
change, run again. A file is a description of a cluster as sim run --file reads it, of which the first two policies are
played, or the decision log of a live cluster (millrace scheduler log --export). --out writes one page that needs no server.`,
		Example: `  millrace play
  millrace play cluster.yaml
  millrace scheduler log --export day.jsonl && millrace play day.jsonl --out day.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if out != "" {
					return errors.New("--out writes a page that plays a file: name the file")
				}
				return servePlay(cmd, listen, play.NewPlayground(choices(), playApart))
			}
			about, tapes, err := readTapes(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if out != "" {
				return failed(writePlay(out, about, tapes))
			}
			var page bytes.Buffer
			if err := play.Write(&page, "", about, tapes...); err != nil {
				return failed(err)
			}
			return servePlay(cmd, listen, play.NewPage(page.Bytes()))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8099", "address of the page; port 0 takes one that is free")
	cmd.Flags().StringVar(&out, "out", "", "write the page to this file instead of serving it")
	return cmd
}

// servePlay serves a page until a signal comes.
func servePlay(cmd *cobra.Command, listen string, page http.Handler) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return failed(fmt.Errorf("%w (--listen takes another address)", err))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "open http://%s/ in a browser; Ctrl-C ends it\n", l.Addr())
	srv := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	stop := context.AfterFunc(cmd.Context(), func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return failed(err)
	}
	return nil
}

// readTapes makes what a file has to be played.
func readTapes(ctx context.Context, name string) (about string, tapes []*play.Recording, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", nil, failed(err)
	}
	if bytes.HasPrefix(data, []byte(`{"millrace_decisions"`)) {
		tape, err := tapeOfLog(data, name)
		return "decisions of a cluster, from " + filepath.Base(name), []*play.Recording{tape}, failed(err)
	}
	return playFile(ctx, data, name, func(*simOptions) error { return nil })
}

// tapeOfLog replays the decision log of a live cluster, which gives the reasons back.
func tapeOfLog(data []byte, name string) (*play.Recording, error) {
	var names, admits []string
	remember := func(policy, admission drive.Named) (scheduler.Policy, scheduler.Admission, error) {
		if policy.Name != "" {
			names = append(names, policy.Name)
		}
		if admission.Name != "" {
			admits = append(admits, admission.Name)
		}
		return makeNamed(policy, admission)
	}
	tape := play.NewRecorder("", "")
	if _, err := drive.Follow(bytes.NewReader(data), name, remember, tape.Hear); err != nil {
		return nil, err
	}
	rec := tape.Recording()
	rec.Name, rec.Admission = strings.Join(names, ", then "), strings.Join(admits, ", then ")
	return rec, nil
}

// playScenario runs what the playground asks for.
func playScenario(ctx context.Context, scenario []byte) ([]*play.Recording, error) {
	_, tapes, err := playFile(ctx, scenario, "the set-up", (*simOptions).generatedOnly)
	return tapes, err
}

// generatedOnly refuses workloads from files: whoever reaches the page could read them.
func (o *simOptions) generatedOnly() error {
	for _, a := range o.arms {
		if strings.HasSuffix(a.policy, ".star") {
			return fmt.Errorf("policy %q: the playground takes the text of a script, not a file", a.policy)
		}
	}
	spec, generated := strings.CutPrefix(o.trace, "gen:")
	if o.jobs == nil && !generated {
		return fmt.Errorf("trace %q: the playground takes generated workloads and listed jobs; millrace play FILE plays files", o.trace)
	}
	_, count, _ := strings.Cut(spec, ":")
	if n, err := strconv.Atoi(count); o.jobs == nil && err == nil && n > playJobs || len(o.jobs) > playJobs {
		return fmt.Errorf("the playground takes at most %d jobs", playJobs)
	}
	return nil
}

// playLimits bound what the playground simulates: nobody waits for more.
const (
	playJobs  = 5_000
	playNodes = 2_000
	playTasks = 200_000
)

// playFile runs the first two policies of a description and records them.
func playFile(ctx context.Context, data []byte, name string, allowed func(*simOptions) error) (string, []*play.Recording, error) {
	o := defaultSim()
	o.file, o.record, o.stop = name, true, func() error { return context.Cause(ctx) }
	if err := o.parse(data, func(string) bool { return false }); err != nil {
		return "", nil, err
	}
	if err := allowed(o); err != nil {
		return "", nil, err
	}
	topo, err := o.check()
	if err != nil {
		return "", nil, err
	}
	if o.nodes > playNodes {
		return "", nil, fmt.Errorf("%d nodes: the player shows at most %d", o.nodes, playNodes)
	}
	source, err := o.readSource()
	if err != nil {
		return "", nil, err
	}
	runs := make([]*simRun, min(2, len(o.arms)))
	var both errgroup.Group
	for i := range runs {
		both.Go(func() (err error) {
			if runs[i], err = o.simulate(topo, o.arms[i], source, o.seed); err != nil {
				return fmt.Errorf("%s: %w", o.arms[i].name, err)
			}
			return nil
		})
	}
	if err := both.Wait(); err != nil {
		return "", nil, err
	}
	about := fmt.Sprintf("%s on %s in %s with %s each, seed %d", human.Many(int64(source.len()), "job"), human.Many(int64(o.nodes), "node"), human.Many(int64(o.racks), "rack"), human.Many(int64(o.containers), "container"), o.seed)
	return about, o.tapes(runs), nil
}

// tapes are the recordings of the first runs, at most two, with what their reports say.
func (o *simOptions) tapes(runs []*simRun) (out []*play.Recording) {
	for _, r := range runs {
		if r.tape == nil || len(out) == 2 {
			continue
		}
		for i := range r.res.Jobs {
			j := r.res.Jobs[i].Job
			r.tape.Alone(j.Spec.ID, j.Alone(o.nodes*o.containers))
		}
		rec := recording(r.tape, r.Metrics)
		rec.Report["slowdown"] = r.Metrics.Slowdown.Mean
		out = append(out, rec)
	}
	return out
}

// recording is what a recorder heard of a run, with what its report says.
func recording(tape *play.Recorder, m compare.Metrics) *play.Recording {
	rec := tape.Recording()
	rec.Report = map[string]float64{"completion": m.Completion.Mean, "local": 100 * m.NodeLocal, "makespan": m.Makespan}
	return rec
}

// writePlay writes a page, whole or not at all.
func writePlay(name, about string, tapes []*play.Recording) error {
	var page bytes.Buffer
	if err := play.Write(&page, "", about, tapes...); err != nil {
		return err
	}
	return writeWhole(name, page.String())
}

// choices are what the playground offers.
func choices() play.Choices {
	c := play.Choices{Models: modelNames(), Lectures: play.Lectures()}
	c.Policies = append(c.Policies, play.Policy{
		Name: scriptPolicy, Summary: "a policy of your own, written here", Source: "docs/policies/write-your-own.md",
		Params: []play.Param{{Name: "code", Type: "code", Default: play.Example(), Doc: "Starlark, a small Python: key(job, node, now) or assign(node, cluster, now)"}},
	})
	for _, info := range policies.List() {
		p := play.Policy{Name: info.Name, Summary: info.Summary, Source: info.Source, Usual: info.UsualParams(nil)}
		for _, x := range info.Params() {
			p.Params = append(p.Params, play.Param{Name: x.Name, Type: string(x.Type), Default: x.Default, Range: x.Range(), Doc: x.Doc, Choices: x.Choices})
		}
		switch info.Seam {
		case scheduler.Assignment:
			c.Policies = append(c.Policies, p)
		case scheduler.Admitting:
			c.Admissions = append(c.Admissions, p)
		}
	}
	return c
}
