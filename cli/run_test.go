package cli

import (
	"maps"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/jobs"
)

// TestWorkersSeeSettings: a job is built of the same settings on a worker as here.
func TestWorkersSeeSettings(t *testing.T) {
	for _, defines := range [][]string{{"my.a=1"}, {"my.a=1", "my.b=two words"}, {"my.b=x[1]"}} {
		job := jobs.NewCommand(jobs.All["streaming"])
		words := []string{"--mapper", "cat", "--input", "/in", "--output", "/out"}
		for _, d := range defines {
			words = append(words, "-D", d)
		}
		if err := job.Flags.Parse(words); err != nil {
			t.Fatal(err)
		}
		here, err := job.Jobs()
		if err != nil {
			t.Fatal(err)
		}
		prog, err := builtinProgram(job, here)
		if err != nil {
			t.Fatal(err)
		}
		there, err := jobs.Parse(prog.Builtin, prog.Args)
		if err != nil || !maps.Equal(there[0].Params, here[0].Params) {
			t.Errorf("%q: %q there, %q here, %v", defines, there[0].Params, here[0].Params, err)
		}
	}
}

// TestZeroesAreHandedOn: each flag of each job may be given with its default or with zero: the cluster builds the job
// that is built here, from what it is handed.
func TestZeroesAreHandedOn(t *testing.T) {
	needed := map[string][]string{"grep": {"--pattern=x"}, "streaming": {"--mapper=cat"}, "join": {"--left=/l", "--right=/r"}, "teragen": {"--rows=1"}}
	for _, name := range jobs.Names() {
		words := append(needed[name], "--output=/out")
		if !jobs.All[name].NoInput {
			words = append(words, "--input=/in")
		}
		jobs.NewCommand(jobs.All[name]).Flags.VisitAll(func(f *pflag.Flag) {
			handed := 0
			for _, value := range []string{f.DefValue, "0", "0s", "false"} {
				handed += handOn(t, name, append(slices.Clone(words), "--"+f.Name+"="+value))
			}
			if handed == 0 && !slices.Contains([]string{"reducers", "rows", "define"}, f.Name) { // which have no zero
				t.Errorf("%s --%s is refused with each of its values", name, f.Name)
			}
		})
	}
}

// handOn builds a job here and of what a cluster is handed, and returns 1, or 0 if the words are refused here.
func handOn(t *testing.T, name string, words []string) int {
	t.Helper()
	job := jobs.NewCommand(jobs.All[name])
	if job.Flags.Parse(words) != nil {
		return 0
	}
	here, err := job.Jobs()
	if err != nil {
		return 0
	}
	prog, err := builtinProgram(job, here)
	if err != nil {
		t.Fatal(err)
	}
	there, err := jobs.Parse(prog.Builtin, prog.Args)
	if err != nil {
		t.Errorf("%s %q: %v", name, words, err)
		return 1
	}
	for i := range here {
		if a, b := here[i], there[i]; a.Scheduling != b.Scheduling || a.Deadline != b.Deadline || a.Priority != b.Priority || a.Name != b.Name || a.SplitBytes != b.SplitBytes {
			t.Errorf("%s %q: %+v here, %+v there", name, words, a.Scheduling, b.Scheduling)
		}
	}
	return 1
}

// TestSelfName: advice is given in the words that called the program.
func TestSelfName(t *testing.T) {
	for called, want := range map[string]string{
		"./millrace": "./millrace", "millrace": "millrace", "/tmp/go-build12/b001/exe/millrace": "go run ./cmd/millrace", "/root/.cache/go-build/ab/millrace": "go run ./cmd/millrace",
	} {
		if got := selfName(called); got != want {
			t.Errorf("%s: %q, want %q", called, got, want)
		}
	}
}
