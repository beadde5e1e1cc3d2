package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/sim/compare"
	"github.com/millrace/millrace/topology"
)

// playing is how scenarios are run for the player.
type playing struct {
	name   string   // of the file, for errors
	files  bool     // whether the scenario may name any file
	traces []string // the files that it may name otherwise
	tell   func(play.Progress)
}

// packed runs a scenario of the playground, or a sweep, and returns what its page reads.
func (p *playing) packed(ctx context.Context, scenario []byte, sweep bool) ([]byte, error) {
	p.name = theSetUp
	if sweep {
		runs, err := p.sweep(ctx, scenario)
		if err != nil {
			return nil, withoutLine(err)
		}
		return json.Marshal(runs)
	}
	_, tapes, err := p.record(ctx, scenario)
	if err != nil {
		return nil, withoutLine(err)
	}
	return play.Pack(tapes)
}

// theSetUp is the name of a scenario that a page sends.
const theSetUp = "the set-up"

// withoutLine removes the position in the scenario from an error: readers of a page do not see its lines.
func withoutLine(err error) error {
	rest, of := strings.CutPrefix(err.Error(), theSetUp+":")
	line, message, ok := strings.Cut(rest, ": ")
	if _, bad := strconv.Atoi(line); !of || !ok || bad != nil {
		return err
	}
	return errors.New(message)
}

// named prefixes an error with whose mistake it is, unless it begins with that: a script's errors have its name and
// line.
func named(name string, err error) error {
	if strings.HasPrefix(err.Error(), name+":") {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// allowed refuses workloads from files that were not offered: anybody who reaches the page could read them.
func (p *playing) allowed(o *simOptions) error {
	if p.files {
		return nil
	}
	for _, a := range o.arms {
		if strings.HasSuffix(a.policy, ".star") {
			return fmt.Errorf("policy %q: the playground takes the text of a script, not a file", a.policy)
		}
	}
	if o.jobs == nil && slices.Contains(p.traces, o.trace) {
		return nil
	}
	spec, generated := strings.CutPrefix(o.trace, "gen:")
	if o.jobs == nil && !generated {
		return fmt.Errorf("trace %q: the playground takes generated workloads, listed jobs and the files that millrace play --trace names; millrace play FILE plays files", o.trace)
	}
	_, count, _ := strings.Cut(spec, ":")
	if n, err := strconv.Atoi(count); o.jobs == nil && err == nil && n > playJobs || len(o.jobs) > playJobs {
		return fmt.Errorf("the playground takes at most %d jobs", playJobs)
	}
	return nil
}

// playJobs and playNodes bound what the playground simulates: nobody waits for more.
const (
	playJobs  = 5_000
	playNodes = 2_000
	playTasks = 200_000
	playSweep = 40
)

// stage is a scenario that can be run.
type stage struct {
	*simOptions
	topo   *topology.Topology
	source *workload
}

// setUp parses a scenario, and refuses what the player does not show.
func (p *playing) setUp(ctx context.Context, data []byte) (*stage, error) {
	o := defaultSim()
	o.file, o.record, o.stop = p.name, true, func() error { return context.Cause(ctx) }
	if err := o.parse(data, func(string) bool { return false }); err != nil {
		return nil, err
	}
	if err := p.allowed(o); err != nil {
		return nil, err
	}
	if o.nodes > playNodes {
		return nil, o.blame("nodes", "is %d: the player shows at most %d", o.nodes, playNodes)
	}
	s := &stage{simOptions: o}
	var err error
	if s.topo, err = o.check(); err == nil {
		s.source, err = o.readSource()
	}
	return s, err
}

// all runs arms side by side, and reports their progress.
func (s *stage) all(arms []arm, tell func(play.Progress), each int) ([]*simRun, error) {
	runs := make([]*simRun, len(arms))
	var mu sync.Mutex // the arms run at the same time, but tell one at a time
	done := 0
	if tell != nil {
		s.ended = func(jobs int) {
			mu.Lock()
			defer mu.Unlock()
			done += jobs
			tell(play.Progress{Done: done, All: each * len(arms)})
		}
	}
	var group errgroup.Group
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for i := range runs {
		group.Go(func() (err error) {
			if runs[i], err = s.simulate(s.topo, arms[i], s.source, s.seed); err != nil {
				return named(arms[i].name, err)
			}
			return nil
		})
	}
	return runs, group.Wait()
}

// record runs the first two policies of a description and records them.
func (p *playing) record(ctx context.Context, data []byte) (string, []*play.Recording, error) {
	s, err := p.setUp(ctx, data)
	if err != nil {
		return "", nil, err
	}
	runs, err := s.all(s.arms[:min(2, len(s.arms))], p.tell, s.source.len())
	if err != nil {
		return "", nil, err
	}
	about := fmt.Sprintf("%s on %s, seed %d", human.Many(int64(s.source.len()), "job"), s.clusterText(), s.seed)
	return about, s.tapes(runs), nil
}

// sweptRun is the result of one run of a sweep.
type sweptRun struct {
	Name   string             `json:"name"`
	Report map[string]float64 `json:"report"`
}

// sweep runs all policies of a scenario without recording them.
func (p *playing) sweep(ctx context.Context, data []byte) ([]sweptRun, error) {
	s, err := p.setUp(ctx, data)
	if err != nil {
		return nil, err
	}
	if n := len(s.arms); n > playSweep {
		return nil, fmt.Errorf("a sweep of %d runs: at most %d; take larger steps", n, playSweep)
	}
	s.noTape = true
	runs, err := s.all(s.arms, p.tell, s.source.len())
	if err != nil {
		return nil, err
	}
	out := make([]sweptRun, len(runs))
	for i, r := range runs {
		out[i] = sweptRun{r.arm.name, reportOf(r.Metrics)}
	}
	return out, nil
}

// tapes returns the recordings of the first runs, at most two, with their reports.
func (o *simOptions) tapes(runs []*simRun) (out []*play.Recording) {
	for _, r := range runs {
		if r.tape == nil || len(out) == 2 {
			continue
		}
		for i := range r.res.Jobs {
			j := r.res.Jobs[i].Job
			r.tape.Alone(j.Spec.ID, j.Alone(o.room()))
		}
		rec := recording(r.tape, r.Metrics)
		out = append(out, rec)
	}
	return out
}

// reportOf returns the report of a run.
func reportOf(m compare.Metrics) map[string]float64 {
	return map[string]float64{"completion": m.Completion.Mean, "slowdown": m.Slowdown.Mean, "local": 100 * m.NodeLocal, "makespan": m.Makespan}
}

// recording returns the recording of a run, with its report.
func recording(tape *play.Recorder, m compare.Metrics) *play.Recording {
	rec := tape.Recording()
	rec.Report = reportOf(m)
	maps.DeleteFunc(rec.Report, func(_ string, v float64) bool { return math.IsNaN(v) }) // no job ended
	return rec
}
