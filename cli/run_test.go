package cli

import (
	"maps"
	"testing"

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
