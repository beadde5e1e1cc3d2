package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/trace"
)

// FBDay is the public trace of a day of Facebook that several documents used.
const FBDay = "FB-2010_samples_24_times_1hr_0.tsv"

// Where jobs come from.
const (
	FromTrace = "the public trace"
	FromModel = "the model fitted to the public trace"
)

// ErrNoTraces says that the machine does not have the public traces.
var ErrNoTraces = errors.New("the public traces are not here: set MILLRACE_TRACES to their directory")

// PublicTrace reads a public trace from the directory that MILLRACE_TRACES names.
func PublicTrace(name string) ([]trace.Job, error) {
	dir := os.Getenv("MILLRACE_TRACES")
	if dir == "" {
		return nil, ErrNoTraces
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTraces, err)
	}
	defer f.Close()
	return trace.ReadSWIM(f, name)
}

// DayOrModel returns the day of Facebook, or as many jobs of the model fitted to it, and which of the two.
func DayOrModel(seed uint64) (jobs []trace.Job, from string) {
	if jobs, err := PublicTrace(FBDay); err == nil {
		return jobs, FromTrace
	}
	return trace.Models["fb-2010"].Generate(24_442, rand.New(rand.NewPCG(seed, 0xfb))), FromModel
}

// Day is DayOrModel, recorded in the report.
func (r *Recorder) Day() (jobs []trace.Job, from string) {
	jobs, from = DayOrModel(r.options.Seed)
	r.report.Workload = from
	return jobs, from
}

// Only records which part of the workload a run has. Call it after Day, if that is called at all.
func (r *Recorder) Only(part string) {
	if r.report.Workload != "" {
		part = r.report.Workload + ", " + part
	}
	r.report.Workload = part
}
