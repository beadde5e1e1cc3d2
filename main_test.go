package millrace

import (
	"flag"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/mapreduce"
)

// TestSchedulingFlags: an own program takes what its job tells the scheduler from flags, and what the job has is the default;
// a flag that the program has itself stays its own.
func TestSchedulingFlags(t *testing.T) {
	f := flag.NewFlagSet("own", flag.ContinueOnError)
	weight := f.String("weight", "", "of the program")
	stages := []mapreduce.Job{{Name: "own", Deadline: time.Minute}, {}}
	var o options
	o.define(f, &stages[0])
	if err := f.Parse([]string{"-queue", "q", "-recurring", "-expect-map-time=3s", "-map-memory=2GiB", "-weight=heavy", "-slowstart=0", "-reduce-cost=0", "-input", "in", "-output", "out"}); err != nil {
		t.Fatal(err)
	}
	if err := o.apply(stages); err != nil {
		t.Fatal(err)
	}
	j := stages[0]
	s := j.Scheduling
	if j.Queue != "q" || !s.Recurring || s.Expect.MapTime != 3*time.Second || s.MapDemand.MemoryBytes != 2<<30 || j.Deadline != time.Minute || j.Name != "own" {
		t.Errorf("%+v", j)
	}
	if *weight != "heavy" || s.Weight != 0 || s.Slowstart >= 0 {
		t.Errorf("the program's weight is %q, the job's %g; slow start %g", *weight, s.Weight, s.Slowstart)
	}
	for _, name := range []string{"slowstart", "reduce-cost"} {
		if got := f.Lookup(name).Value.String(); got != "0" {
			t.Errorf("children get -%s=%s", name, got)
		}
	}
}

// TestNamedInputs: the inputs of an own program are flags, each under its name.
func TestNamedInputs(t *testing.T) {
	parse := func(args ...string) (mapreduce.Job, []string, error) {
		f := flag.NewFlagSet("own", flag.ContinueOnError)
		stages := []mapreduce.Job{{Output: "out", Inputs: []mapreduce.Input{{Name: "left"}, {Name: "right", Paths: []string{"usual"}}, {Paths: []string{"fixed"}}}}}
		var o options
		o.define(f, &stages[0])
		if err := f.Parse(args); err != nil {
			t.Fatal(err)
		}
		err := o.apply(stages)
		return stages[0], o.input.args(), err
	}
	job, child, err := parse("-input", "left=/a,/b", "-input", "left=/c", "-input", "right=/d")
	var got [][]string
	for _, in := range job.Inputs {
		got = append(got, in.Paths)
	}
	if want := [][]string{{"/a", "/b", "/c"}, {"/d"}, {"fixed"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if want := []string{"-input=left=/a,/b", "-input=left=/c", "-input=right=/d"}; !slices.Equal(child, want) {
		t.Errorf("children get %q, want %q", child, want)
	}
	if job, _, err = parse("-input", "left=/a"); err != nil || job.Inputs[1].Paths[0] != "usual" {
		t.Errorf("%+v, %v", job.Inputs, err)
	}
	for _, wrong := range []struct{ arg, want string }{
		{"right=/d", "no input left: give -input left=FILE"},
		{"lefft=/a", `unknown input "lefft": did you mean left? (known: left, right)`},
		{"/a", "say which input, as -input left=/a"},
	} {
		if _, _, err := parse("-input", wrong.arg); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("-input %s: %v, want %q", wrong.arg, err, wrong.want)
		}
	}
}
