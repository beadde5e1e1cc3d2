package millrace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/launch"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// A Loop is a program of rounds: jobs that run again and again until they are done, such as PageRank until no rank
// changes. Each round reads what the one before wrote.
type Loop struct {
	// First, if not empty, is a chain of jobs that makes what the first round reads.
	First []mapreduce.Job
	// Round is the chain of jobs of every round.
	Round []mapreduce.Job
	// Reread makes every round read the program's input instead of what the round before wrote. Again passes on what a
	// round has learned.
	Reread bool
	// Rounds is the most rounds there may be unless the flag -rounds says otherwise. 0 means 50.
	Rounds int
	// Again examines what a round did and says whether there is another; params are for that round's tasks
	// ([mapreduce.Task.Param]).
	Again func(done *Rounded) (params map[string]string, again bool, err error)
}

// Rounded is what a round did.
type Rounded struct {
	Round  int // the first is 1
	Counts mapreduce.Counts
	text   func() (string, error)
}

// Output returns what the round wrote, if that is at most 1 MiB.
func (r *Rounded) Output() (string, error) { return r.text() }

// MainLoop is [Main] for a loop. The output directory appears when the last round has ended; until then rounds write into a
// directory beside it, OUTPUT.rounds.
func MainLoop(l Loop) { os.Exit(l.main()) }

// turnFlag tells a child of a loop which round it works for.
const turnFlag = "loop-turn"

// turn is the value of that flag.
type turn struct {
	First  bool              `json:"first,omitempty"`
	Params map[string]string `json:"params,omitempty"`
	Input  []string          `json:"input,omitempty"`
	Output string            `json:"output"`
}

func (l *Loop) main() int {
	if l.Rounds == 0 {
		l.Rounds = 50
	}
	all := slices.Concat(l.First, l.Round)
	p := program{stages: all, loop: l}
	return p.main()
}

// jobs returns the jobs of a turn, out of all jobs of the program, with the flags applied.
func (l *Loop) jobs(all []mapreduce.Job, t turn) []mapreduce.Job {
	stages := all[len(l.First):]
	if t.First {
		stages = all[:len(l.First)]
	}
	for i := range stages {
		stages[i].Params = launch.WithParams(stages[i].Params, t.Params)
	}
	stages[0].Input, stages[len(stages)-1].Output = t.Input, t.Output
	return stages
}

// ready copies what flags have set in the program's first job to the first job of the rounds.
func (l *Loop) ready(all []mapreduce.Job, reducers int) {
	if len(l.First) == 0 {
		return
	}
	from, to := &all[0], &all[len(l.First)]
	to.User, to.Queue, to.Pool, to.Priority, to.Deadline, to.Scheduling = from.User, from.Queue, from.Pool, from.Priority, from.Deadline, from.Scheduling
	if reducers > 0 {
		all[len(l.First)-1].Reducers = reducers
	}
	if l.Reread && len(to.Inputs) == 0 {
		to.Input = from.Input
	}
}

// run makes the loop of the program.
func (l *Loop) run(o *options, all []mapreduce.Job) (*launch.Loop, error) {
	if l.Rounds < 1 {
		return nil, fmt.Errorf("-rounds is %d, must be at least 1", l.Rounds)
	}
	cfg, err := o.config(all)
	if err == nil {
		_, err = launch.New(cfg)
	}
	if err != nil {
		return nil, err
	}
	return &launch.Loop{
		First: all[:len(l.First)], Round: all[len(l.First):], Reread: l.Reread, Most: l.Rounds,
		Again: func(n int, c mapreduce.Counts, text func() (string, error)) (map[string]string, bool, error) {
			return l.Again(&Rounded{n, c, text})
		},
		Configure: func(stages []mapreduce.Job, first bool, params map[string]string) (launch.Config, error) {
			cfg, err := o.config(stages)
			cfg.Program = func(ctx context.Context, cl *client.Client) (wire.Program, error) {
				prog, err := ship(ctx, cl)
				if err != nil {
					return prog, err
				}
				told, err := json.Marshal(turn{first, params, absoluteAll(stages[0].Input), stages[len(stages)-1].Output})
				prog.Args = append(prog.Args, "-"+turnFlag+"="+string(told))
				return prog, err
			}
			return cfg, err
		},
	}, nil
}
