package mapreduce

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/priority"
)

// A Job is a whole computation as a value. Only Name, an input and a map are required. Every other field has a
// default, which the engine chooses.
type Job struct {
	// Name is for users: progress, logs, history.
	Name string

	// Input lists files, directories and glob patterns, read by Map.
	Input []string
	// Map makes pairs from records.
	Map Map
	// Inputs replaces Input and Map if several inputs have a mapper each.
	Inputs []Input

	// Fold aggregates the values of a key from the first pair on. With it, a job
	// needs neither Combine nor Reduce.
	Fold Fold
	// Combine reduces map output before it is sent. It may run any number of times, including none, and must emit
	// the pair types it takes.
	Combine Reduce
	// Reduce makes the output from groups. Zero passes pairs on unchanged.
	Reduce Reduce
	// MapOnly writes map output straight to the output, unsorted.
	MapOnly bool

	// Partition distributes keys among the reduces. It must keep keys together that Sort, or Group, calls equal. Nil
	// means the hash of Group or Sort, if it has one (see [Order]), else [HashPartition].
	Partition Partitioner
	// Sort orders keys before the reduce. Nil means the order of bytes.
	Sort Order
	// Group says which sorted keys belong to one group, for secondary sort: keys
	// that it calls equal share one call of Reduce, made with [Pairs]. It must be
	// coarser than Sort. Nil means equal keys.
	Group Order

	// Output is the directory that the job creates.
	Output string
	// Format writes the output. Nil means [TextOutput].
	Format OutputFormat

	// Reducers is the number of reduces and of output parts. 0 lets the engine choose.
	Reducers int
	// SplitBytes is the input of one map task. 0 lets the engine choose.
	SplitBytes int64
	// Compression of map output: "none", "s2" or "zstd". Empty lets the engine choose.
	Compression string

	// SideFiles are available to every attempt (see [Task.SideFile]).
	SideFiles []string
	// Params are passed to every attempt (see [Task.Param]).
	Params map[string]string

	// MaxAttempts is how often a task is tried before the job fails. 0 means 4.
	MaxAttempts int
	// SkipBadRecords is how many records of the whole job may be skipped because the mapper failed on them. They are
	// skipped from a task's second attempt on, counted in [MapSkippedRecords] and listed with their places. 0 means
	// that a bad record fails the job.
	SkipBadRecords int
	// MaxRecordBytes bounds one record. Larger ones fail the job with their size and place. 0 lets the engine choose
	// from its memory.
	MaxRecordBytes int

	// User, Queue, Pool, Priority and Deadline are for the scheduler of a cluster.
	User, Queue, Pool string
	Priority          Priority
	// Deadline is the completion-time goal, counted from submission. 0 means none.
	Deadline time.Duration
	// Scheduling is what else the scheduler may use.
	Scheduling Scheduling
}

// An Input is one of several inputs of a job, with the map that reads it.
type Input struct {
	// Name is the input's name on a program's command line: -input left=FILE. Empty means that the program gives the
	// paths.
	Name  string
	Paths []string
	Map   Map
}

// Priority orders the jobs of a queue; the zero value is Normal.
type Priority = priority.Priority

// The five priorities.
const (
	VeryLow  = priority.VeryLow
	Low      = priority.Low
	Normal   = priority.Normal
	High     = priority.High
	VeryHigh = priority.VeryHigh
)

// ParsePriority is the inverse of [Priority.String].
func ParsePriority(s string) (Priority, error) { return priority.Parse(s) }

// Limits on what a job may ask for.
const (
	MaxReducers     = 100_000
	defaultAttempts = 4
)

// AllInputs returns the inputs in either of their two spellings.
func (j *Job) AllInputs() []Input {
	if len(j.Inputs) > 0 {
		return j.Inputs
	}
	return []Input{{Paths: j.Input, Map: j.Map}}
}

// Attempts returns how often a task may be tried.
func (j *Job) Attempts() int {
	if j.MaxAttempts == 0 {
		return defaultAttempts
	}
	return j.MaxAttempts
}

// Partitioner returns the partitioner in effect.
func (j *Job) Partitioner() Partitioner {
	if j.Partition == nil {
		return j.defaultPartition()
	}
	return j.Partition
}

// OutputTypes returns the types of the pairs that the job writes. Each map of a map-only job writes its own: those of
// that input.
func (j *Job) OutputTypes(input int) (key, value Type) {
	g := j.mapped(input)
	switch {
	case j.MapOnly:
	case !j.Reduce.IsZero():
		g.key, g.value = j.Reduce.Key, j.Reduce.Value
	default:
		if f, err := j.folded(g); err == nil {
			g = f
		}
	}
	return orBytes(g.key), orBytes(g.value)
}

// OutputFormat returns the output format in effect.
func (j *Job) OutputFormat() OutputFormat {
	if j.Format == nil {
		return TextOutput
	}
	return j.Format
}

// A FieldError says what is wrong with a field of a [Job] or of an engine's configuration. A command replaces the
// field's name by that of the flag that sets it.
type FieldError struct {
	Field   string // its Go name
	Problem string // such as "is 7, must be in 1..5"
}

// Error returns the field and the problem.
func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

// Validate returns what is wrong with the job, naming the field (see [FieldError]) or the types that do not go
// together, and where.
func (j *Job) Validate() error {
	if err := errors.Join(j.validateStages(), j.validateOrder(), j.validateNumbers(), j.validatePaths()); err != nil {
		return err
	}
	return j.validateTypes()
}

func (j *Job) validateStages() error {
	var errs []error
	if len(j.Inputs) > 0 && (len(j.Input) > 0 || !j.Map.IsZero()) {
		errs = append(errs, errors.New("both Inputs and Input or Map are set: use one spelling"))
	}
	for i, in := range j.AllInputs() {
		if in.Map.IsZero() {
			errs = append(errs, fmt.Errorf("input %d has no map", i))
		}
		if len(in.Paths) == 0 {
			errs = append(errs, fmt.Errorf("no input given (input %d is empty)", i))
		}
	}
	if !j.Fold.IsZero() && !j.Combine.IsZero() {
		errs = append(errs, errors.New("both Fold and Combine are set: a fold combines already"))
	}
	switch {
	case j.Group == nil:
	case j.Reduce.IsZero():
		errs = append(errs, errors.New("field Group is set, and there is no Reduce for its groups: leave it out, or give a Reduce made with Pairs"))
	case j.Reduce.oneKey:
		errs = append(errs, errors.New("field Group is set, and the Reduce is made with Groups, which sees only the first of a group's keys: make it with Pairs, which hands over the key of each pair"))
	}
	errs = append(errs, j.validateMapOnly())
	if j.MapOnly && (!j.Reduce.IsZero() || !j.Combine.IsZero() || !j.Fold.IsZero()) {
		errs = append(errs, errors.New("a map-only job has no reduce, combine or fold"))
	}
	return errors.Join(errs...)
}

// validateMapOnly refuses what is for a shuffle that a map-only job has not.
func (j *Job) validateMapOnly() error {
	var errs []error
	for _, f := range []struct {
		name string
		set  bool
	}{{"Reducers", j.Reducers != 0}, {"Sort", j.Sort != nil}, {"Partition", j.Partition != nil}} {
		if j.MapOnly && f.set {
			errs = append(errs, &FieldError{f.name, "is set, but a map-only job has no reduce: leave one of them out"})
		}
	}
	return errors.Join(errs...)
}

func (j *Job) validateNumbers() error {
	var errs []error
	check := func(name string, n, low, high int64) {
		if n < low || n > high {
			errs = append(errs, &FieldError{name, fmt.Sprintf("is %d, must be in %d..%d", n, low, high)})
		}
	}
	check("Reducers", int64(j.Reducers), 0, MaxReducers)
	check("MaxAttempts", int64(j.MaxAttempts), 0, 100)
	check("SkipBadRecords", int64(j.SkipBadRecords), 0, 1_000_000)
	check("SplitBytes", j.SplitBytes, 0, 1<<50)
	check("MaxRecordBytes", int64(j.MaxRecordBytes), 0, 1<<30)
	check("Priority", int64(j.Priority), int64(VeryLow), int64(VeryHigh))
	switch j.Compression {
	case "", "none", "s2", "zstd":
	default:
		errs = append(errs, &FieldError{"Compression", fmt.Sprintf("is %q, must be one of none, s2, zstd", j.Compression)})
	}
	return errors.Join(append(errs, j.Scheduling.validate())...)
}

func (j *Job) validatePaths() error {
	var errs []error
	if j.Output == "" {
		errs = append(errs, errors.New("no output directory given"))
	}
	for _, in := range j.AllInputs() {
		for _, p := range append([]string{j.Output}, in.Paths...) {
			if strings.ContainsRune(p, 0) {
				errs = append(errs, fmt.Errorf("path %q holds a NUL byte", p))
			}
		}
	}
	seen := map[string]string{}
	for _, f := range j.SideFiles {
		base := path.Base(f)
		if other, ok := seen[base]; ok && other != f {
			errs = append(errs, fmt.Errorf("side files %q and %q have the same base name", other, f))
		}
		seen[base] = f
	}
	return errors.Join(errs...)
}

func orBytes(t Type) Type {
	if t == nil {
		return Bytes
	}
	return t
}
