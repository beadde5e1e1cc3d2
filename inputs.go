package millrace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/mapreduce"
)

// inputFlag is the flag -input: paths or, for a job with named inputs, NAME=PATHS. It may be given several times.
type inputFlag struct {
	names []string // of the job's inputs; none: they have no names
	given []string
}

// String is for help only.
func (f *inputFlag) String() string { return strings.Join(f.given, " ") }

// Set adds a value.
func (f *inputFlag) Set(s string) error {
	f.given = append(f.given, s)
	return nil
}

func namesOf(inputs []mapreduce.Input) (names []string) {
	for _, in := range inputs {
		if in.Name != "" {
			names = append(names, in.Name)
		}
	}
	return names
}

func (f *inputFlag) usage() string {
	const paths = "input file, directory or pattern; several separated by commas"
	if len(f.names) == 0 {
		return paths
	}
	return "`NAME=PATHS`: " + paths + ", for each of " + strings.Join(f.names, ", ")
}

// cut splits a value into the name of an input and its paths.
func (f *inputFlag) cut(given string) (name string, paths []string, err error) {
	if len(f.names) > 0 {
		var ok bool
		name, given, ok = strings.Cut(given, "=")
		if !ok {
			return "", nil, fmt.Errorf("-input %s: say which input, as -input %s=%s", name, f.names[0], name)
		}
		if !slices.Contains(f.names, name) {
			return "", nil, fmt.Errorf("-input: %w", suggest.Unknown("input", name, f.names))
		}
	}
	return name, splitList(given), nil
}

// apply sets the paths in the job, replacing those it has.
func (f *inputFlag) apply(job *mapreduce.Job) error {
	by := map[string][]string{}
	for _, given := range f.given {
		name, paths, err := f.cut(given)
		if err != nil {
			return err
		}
		by[name] = append(by[name], paths...)
	}
	if paths := by[""]; len(paths) > 0 {
		job.Input = paths
	}
	job.Inputs = slices.Clone(job.Inputs)
	for i := range job.Inputs {
		in := &job.Inputs[i]
		if paths := by[in.Name]; in.Name != "" && len(paths) > 0 {
			in.Paths = paths
		}
		if in.Name != "" && len(in.Paths) == 0 {
			return fmt.Errorf("no input %[1]s: give -input %[1]s=FILE, DIRECTORY or PATTERN", in.Name)
		}
	}
	return nil
}

// args returns the flag for a child elsewhere on the machine, with absolute local paths.
func (f *inputFlag) args() (out []string) {
	for _, given := range f.given {
		name, paths, err := f.cut(given)
		if err != nil {
			continue // apply has refused it
		}
		paths = absoluteAll(paths)
		if name != "" {
			name += "="
		}
		out = append(out, "-input="+name+strings.Join(paths, ","))
	}
	return out
}
