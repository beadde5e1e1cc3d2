package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/mapreduce"
)

// A Builtin is one job of the binary.
type Builtin struct {
	Name    string
	Summary string // one line
	Example string // the words after "millrace run"
	// Result says that the output is a short text to be shown, so that --output may be omitted.
	Result bool
	// texts names the values of the result that are never numbers, even if they look like numbers.
	texts []string
	// judges says that the job fails if what it checks is invalid.
	judges bool
	// reduces says why --reducers does not set the number of reduces.
	reduces string
	// NoInput says that the job generates its own data.
	NoInput bool
	// Commands says that the job runs the user's commands.
	Commands bool

	// Hint says what may be wrong with a successful run, judging by its counters; nil if it never says anything.
	Hint func(mapreduce.Counts) string

	// define adds the job's own flags and returns the function that builds the
	// job from base once they are parsed.
	define func(flags *pflag.FlagSet) func(base mapreduce.Job) ([]mapreduce.Job, error)
}

// All maps names to the built-in jobs.
var All = map[string]Builtin{
	"wordcount":      wordCount,
	"grep":           grep,
	"sort":           sortLines,
	"teragen":        teraGen,
	"terasort":       teraSort,
	"teravalidate":   teraValidate,
	"join":           join,
	"distinct":       distinct,
	"topk":           topK,
	"inverted-index": invertedIndex,
	"pi":             pi,
	"sleep":          sleep,
	"synthetic":      synthetic,
	"streaming":      streamingJob,
}

// Names returns the names of all jobs in order.
func Names() []string { return slices.Sorted(maps.Keys(All)) }

// Find returns the job of that name, or an error that lists the names.
func Find(name string) (Builtin, error) {
	b, ok := All[name]
	if !ok {
		return Builtin{}, suggest.Unknown("job", name, Names())
	}
	return b, nil
}

// A Command is a built-in job with its flags defined, ready to be parsed and built.
type Command struct {
	Builtin
	Flags *pflag.FlagSet

	base    mapreduce.Job
	split   ByteSize
	largest ByteSize
	build   func(base mapreduce.Job) ([]mapreduce.Job, error)
}

// NewCommand defines all flags of a job: those of every job and its own.
func NewCommand(b Builtin) *Command {
	c := &Command{Builtin: b, Flags: pflag.NewFlagSet(b.Name, pflag.ContinueOnError)}
	c.Flags.SortFlags = false
	c.commonFlags()
	c.build = b.define(c.Flags)
	return c
}

func (c *Command) commonFlags() {
	f, j := c.Flags, &c.base
	if !c.NoInput {
		f.StringArrayVarP(&j.Input, "input", "i", nil, "input file, directory or pattern; may be given several times")
	}
	f.StringVarP(&j.Output, "output", "o", "", "directory to make")
	f.IntVarP(&j.Reducers, "reducers", "r", 0, "number of reduces and of output parts (default: chosen from cores and input)")
	f.StringVar(&j.Compression, "compress", "", "compression of map output: s2, zstd or none (default: none on one machine, s2 on a cluster)")
	f.Var(&c.split, "split-bytes", "input of one map task (default: chosen from input and memory)")
	f.IntVar(&j.MaxAttempts, "max-attempts", 0, "tries of a task before the job fails (default 4)")
	f.IntVar(&j.SkipBadRecords, "skip-bad-records", 0, "records that may be left out because the mapper fails on them")
	f.Var(&c.largest, "max-record-bytes", "largest record (default: a quarter of the memory; with more the memory is not kept to)")
	for _, s := range SchedulingFlags(j) {
		if f.Var(s.Value, s.Name, s.Usage); s.Value.Type() == "bool" {
			f.Lookup(s.Name).NoOptDefVal = "true"
		}
	}
}

// Jobs builds the job, or chain of jobs, from the parsed flags.
func (c *Command) Jobs() ([]mapreduce.Job, error) {
	base := c.base
	base.Name = cmp.Or(base.Name, c.Name)
	base.SplitBytes, base.MaxRecordBytes = int64(c.split), int(c.largest)
	if !c.NoInput && len(base.Input) == 0 {
		return nil, errors.New("no input: give --input FILE, DIRECTORY or PATTERN")
	}
	if err := checkPaths(base); err != nil {
		return nil, err
	}
	if base.Output == "" && !c.Result {
		return nil, errors.New("no output: give --output DIRECTORY")
	}
	if f := c.Flags.Lookup("reducers"); f.Changed {
		if c.reduces != "" {
			return nil, fmt.Errorf("--reducers does not go with %s: %s", c.Name, c.reduces)
		}
		if err := CheckReducers("--", base.Reducers); err != nil {
			return nil, err
		}
	}
	stages, err := c.build(base)
	if err != nil {
		return nil, err
	}
	return stages, checkStages(stages)
}

// checkPaths refuses what is probably a path by accident: nothing, and the dash that other commands take for
// standard input or output.
func checkPaths(base mapreduce.Job) error {
	for _, p := range base.Input {
		switch p {
		case "":
			return errors.New("--input is empty: give a FILE, DIRECTORY or PATTERN")
		case "-":
			return errors.New("--input - is not read: input is divided among tasks, so put it into a file first")
		}
	}
	if base.Output == "-" {
		return errors.New("--output - is not a place: give a DIRECTORY, and look at it with cat DIRECTORY/part-*")
	}
	return nil
}

// checkStages finds wrong numbers and names before anything runs. The engine gives
// a chain its directories between the stages, and a result its directory.
func checkStages(stages []mapreduce.Job) error {
	for i := range len(stages) - 1 {
		stages[i].Output = "" // made from the same flags as the last
	}
	for i, job := range stages {
		if i > 0 {
			job.Input = []string{"."}
		}
		if job.Output == "" || i < len(stages)-1 {
			job.Output = "."
		}
		if err := job.Validate(); err != nil {
			return NameFlags("--", err)
		}
	}
	return nil
}

// Parse builds a job from its name and the words after it.
func Parse(name string, words []string) ([]mapreduce.Job, error) {
	b, err := Find(name)
	if err != nil {
		return nil, err
	}
	c := NewCommand(b)
	if err := c.Flags.Parse(words); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if rest := c.Flags.Args(); len(rest) > 0 {
		return nil, fmt.Errorf("%s: unexpected argument %q", name, rest[0])
	}
	return c.Jobs()
}

// none returns the define function of a job without flags of its own.
func none(build func(base mapreduce.Job) mapreduce.Job) func(*pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
	return func(*pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		return func(base mapreduce.Job) ([]mapreduce.Job, error) {
			return []mapreduce.Job{build(base)}, nil
		}
	}
}

// CheckReducers checks a requested number of reduces.
func CheckReducers(dashes string, n int) error {
	if n < 1 || n > mapreduce.MaxReducers {
		return fmt.Errorf("%sreducers is %d, must be in 1..%d (leave it out to have it chosen)", dashes, n, mapreduce.MaxReducers)
	}
	return nil
}

func checkRange(flag string, n, low, high int64) error {
	if n < low || n > high {
		return fmt.Errorf("--%s is %d, must be in %d..%d", flag, n, low, high)
	}
	return nil
}

func checkTime(flag string, d time.Duration) error {
	if d < 0 || d > 24*time.Hour {
		return fmt.Errorf("--%s is %s, must be in 0s..24h", flag, d)
	}
	return nil
}

func errOneOf(flag, have string, known ...string) error {
	return fmt.Errorf("--%s is %q, must be one of %s", flag, have, strings.Join(known, ", "))
}
