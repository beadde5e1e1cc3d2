package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/task"
)

// Limits of what one round passes to the next.
const (
	maxParams = 64 << 10 // bytes of names and values
	maxText   = 1 << 20  // bytes of output that Again may read
)

// A Loop runs rounds of a chain of jobs, each of which reads what the previous one wrote, until one says that it is
// enough. Rounds write to OUTPUT.rounds beside the output, which is removed in the end. The last round's output
// becomes the output.
type Loop struct {
	// First, if there is any, makes the input of the first round: it is round 0.
	First, Round []mapreduce.Job
	// Reread makes every round read Input instead of what the previous round wrote.
	Reread bool
	Most   int // rounds
	// Again decides after a round whether there is another, and with what parameters for its jobs.
	Again func(round int, counts mapreduce.Counts, text func() (string, error)) (params map[string]string, again bool, err error)
	// Configure returns how to run the stages of a round. It is told whether the round is the first, and its
	// parameters.
	Configure func(stages []mapreduce.Job, first bool, params map[string]string) (Config, error)

	output string
	rounds string // where rounds write
	over   bool   // replace an existing output
	mux    storage.Mux
	store  storage.FS
}

// Do runs the rounds.
func (l *Loop) Do(ctx context.Context) error {
	begin := time.Now()
	cfg, err := l.Configure(l.Round, false, nil)
	if err != nil {
		return err
	}
	if cfg.Detach {
		return fmt.Errorf("%sdetach: a loop needs this program until its end, to look at each round", cfg.Dash)
	}
	done, err := l.place(ctx, &cfg)
	if err != nil {
		return &told{err}
	}
	defer done()
	last, ended, err := l.turn(ctx)
	if err != nil {
		if _, on := errors.AsType[*GoesOn](err); !on {
			err = errors.Join(err, l.store.RemoveAll(l.inStore(l.rounds)))
		}
		return err
	}
	if err := l.finish(last); err != nil {
		return &told{err}
	}
	if ended.again && !cfg.JSON {
		fmt.Fprintf(cfg.Err, "stopped after %s, as %srounds says: it would go on\n", human.Many(int64(last), "round"), cfg.Dash)
	}
	res := ended.res
	res.Output, res.Elapsed = l.output, time.Since(begin)
	if cfg.JSON {
		report := console.ReportOf(l.Round, res, nil)
		report.Rounds, report.Unfinished = last, ended.again
		return report.WriteJSON(cfg.Out)
	}
	console.Summary(cfg.Err, res)
	return nil
}

// turned is the result of a round.
type turned struct {
	res    local.Result
	params map[string]string
	again  bool
}

// turn runs one round after another and returns the last.
func (l *Loop) turn(ctx context.Context) (n int, t turned, err error) {
	first := 1
	if len(l.First) > 0 {
		first = 0
	}
	for n = first; ; n++ {
		if t, err = l.one(ctx, n, t.params); err != nil {
			return n, t, err
		}
		if n-1 >= first && !l.Reread {
			if err := l.store.RemoveAll(l.dir(n - 1)); err != nil { // it has been read
				return n, t, err
			}
		}
		if n > 0 && !t.again || n == l.Most {
			return n, t, nil
		}
	}
}

// one runs a round.
func (l *Loop) one(ctx context.Context, n int, params map[string]string) (t turned, err error) {
	cfg, err := l.Configure(l.stages(n, params), n == 0, params)
	if err != nil {
		return t, err
	}
	if cfg.Explain != "" { // one page per round
		kind := path.Ext(cfg.Explain)
		cfg.Explain = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(cfg.Explain, kind), n, kind)
	}
	cfg.Then = func(res local.Result, parts func(io.Writer) error) (err error) {
		t.res = res
		said := "round %d: done in %s\n"
		if n == 0 {
			t.again = true
		} else if t.params, t.again, err = l.Again(n, res.Counts, textOf(parts)); err != nil {
			return fmt.Errorf("after round %d: %w", n, err)
		}
		if !t.again {
			said = "round %d: done in %s, the last\n"
		}
		if cfg.Progress != "none" && !cfg.JSON {
			fmt.Fprintf(cfg.Err, said, n, human.Duration(res.Elapsed))
		}
		return checkParams(t.params)
	}
	run, err := New(cfg)
	if err != nil {
		return t, err
	}
	return t, run.Do(ctx)
}

// stages returns the jobs of a round, with its input and output.
func (l *Loop) stages(n int, params map[string]string) []mapreduce.Job {
	stages := slices.Clone(l.Round)
	if n == 0 {
		stages = slices.Clone(l.First)
	} else if !l.Reread && (n > 1 || len(l.First) > 0) {
		stages[0].Input = []string{l.full(n - 1)}
	}
	for i := range stages {
		stages[i].Params = WithParams(stages[i].Params, params)
	}
	stages[len(stages)-1].Output = l.full(n)
	return stages
}

// WithParams adds the parameters of a round to those of a job.
func WithParams(job, round map[string]string) map[string]string {
	if len(round) == 0 {
		return job
	}
	all := maps.Clone(job)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, round)
	return all
}

func checkParams(params map[string]string) error {
	size := 0
	for name, v := range params {
		size += len(name) + len(v)
	}
	if size > maxParams {
		return fmt.Errorf("the parameters of the next round have %d bytes, may have %d: write what is larger into the output, and read it from there", size, maxParams)
	}
	return nil
}

// textOf returns the reader of a round's output, which is short.
func textOf(parts func(io.Writer) error) func() (string, error) {
	return func() (string, error) {
		var text strings.Builder
		cut := &limited{&text, maxText + 1}
		if err := parts(cut); err != nil {
			return "", err
		}
		if text.Len() > maxText {
			return "", fmt.Errorf("the output of the round is larger than %s, too much to look at: count what matters with a counter", human.Bytes(maxText))
		}
		return text.String(), nil
	}
}

// place finds the store of the output and refuses an impossible output.
func (l *Loop) place(ctx context.Context, cfg *Config) (done func(), err error) {
	stores := hadoop(cfg.Patience)
	done = stores.Close
	mux := storage.Mux{Sites: stores.Sites()}
	if cfg.Client.Master != "" {
		cl, err := client.New(cfg.Client)
		if err != nil {
			return done, err
		}
		done = func() { _ = cl.Close() }
		mux = storage.Mux{Stores: map[string]storage.FS{"dfs": cl.DFS().Storage(context.WithoutCancel(ctx))}} // usable even after an interrupt
	}
	l.mux = mux
	if l.output, err = Absolute(l.Round[len(l.Round)-1].Output); err == nil {
		err = task.CheckPlace(mux, l.output)
	}
	if err != nil {
		return done, err
	}
	l.output = strings.TrimRight(l.output, "/")
	l.rounds, l.over = l.output+".rounds", cfg.Local.Overwrite
	var inside string
	if l.store, inside, err = mux.Resolve(l.output); err != nil {
		return done, err
	}
	if err := l.checkFree(inside, cfg); err != nil {
		return done, err
	}
	if err := l.checkInput(mux); err != nil {
		return done, err
	}
	return done, l.claim(l.inStore(l.rounds))
}

// loopFile marks the directory of rounds. So a loop that was killed can be swept, but not what somebody else has put
// there.
const loopFile = "_LOOP"

// claim makes the directory of rounds and replaces one that an earlier loop has left.
func (l *Loop) claim(dir string) error {
	if _, err := l.store.Stat(dir); err == nil {
		if _, err := l.store.Stat(path.Join(dir, loopFile)); err != nil {
			return fmt.Errorf("rounds would be written to %q, which exists and is no loop's: move it away, or choose another output", l.rounds)
		}
		if err := l.store.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := l.store.MkdirAll(dir); err != nil {
		return err
	}
	w, err := l.store.Create(path.Join(dir, loopFile))
	if err != nil {
		return err
	}
	return w.Close()
}

// checkInput refuses a program's input that overlaps with what the loop writes or replaces.
func (l *Loop) checkInput(mux storage.Mux) error {
	stages := slices.Concat(l.First, l.Round)
	inputs := stages[0].AllInputs()
	if l.Reread {
		inputs = slices.Concat(inputs, l.Round[0].AllInputs())
	}
	for _, in := range inputs {
		for _, p := range in.Paths {
			if err := task.CheckApart(mux, p, l.output, l.over); err != nil {
				return err
			}
			if full, err := Absolute(p); err == nil && l.Reread && leadsTo(full, l.rounds) {
				return fmt.Errorf("input %q leads to %q: later rounds would read what the rounds write; choose another output", p, l.rounds)
			}
		}
	}
	return nil
}

// leadsTo reports whether a pattern matches a directory or what is in it.
func leadsTo(pattern, dir string) bool {
	parts, names := strings.Split(pattern, "/"), strings.Split(dir, "/")
	for i := range min(len(parts), len(names)) {
		if ok, err := path.Match(parts[i], names[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// checkFree refuses an output that exists, unless a job made it and it may be overwritten.
func (l *Loop) checkFree(inside string, cfg *Config) error {
	_, err := l.store.Stat(inside)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !cfg.Local.Overwrite:
		return fmt.Errorf("output %q: %w (choose another, or give %soverwrite)", l.output, task.ErrOutputExists, cfg.Dash)
	}
	if _, err := l.store.Stat(path.Join(inside, task.SuccessFile)); err != nil {
		return fmt.Errorf("output %q is not the output of a job: %w, and is not overwritten; remove it yourself, or choose another", l.output, task.ErrOutputExists)
	}
	return nil
}

// full returns the path of a round's output for a job, dir for its store.
func (l *Loop) full(n int) string { return fmt.Sprintf("%s/%03d", l.rounds, n) }

func (l *Loop) dir(n int) string { return l.inStore(l.full(n)) }

// inStore returns a path without its scheme.
func (l *Loop) inStore(full string) string {
	_, inside, err := l.mux.Resolve(full)
	if err != nil {
		return full
	}
	return inside
}

// finish makes the last round's output the loop's.
func (l *Loop) finish(last int) error {
	final := l.inStore(l.output)
	if l.over {
		if err := l.store.RemoveAll(final); err != nil {
			return err
		}
	}
	if err := l.store.Rename(l.dir(last), final); err != nil {
		return err
	}
	return l.store.RemoveAll(l.inStore(l.rounds))
}
