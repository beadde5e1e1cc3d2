package cli

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

// given are values of the inputs that are no default.
var given = map[string]string{
	"name": "nightly", "user": "ann", "queue": "q", "pool": "p", "priority": "very-high", "weight": "2.5", "deadline": "90s", "reduce-cost": "3", "recurring": "",
	"expect-input": "5GiB", "expect-shuffle": "3MB", "expect-map-time": "7s", "expect-reduce-time": "8s", "slowstart": "0",
	"map-vcores": "2", "map-memory": "3GiB", "reduce-vcores": "4", "reduce-memory": "5GiB", "driver-vcores": "6", "driver-memory": "7GiB",
}

// submitted builds a job from flags, submits it, and returns it as a client sends it and as the policies see it.
func submitted(t *testing.T, builtin string, words ...string) (wire.JobSpec, *scheduler.JobSpec) {
	t.Helper()
	stages, err := jobs.Parse(builtin, words)
	if err != nil {
		t.Fatal(err)
	}
	spec := client.SpecOf(stages, wire.Program{Builtin: builtin}, false)
	sent := spec
	if spec.User == "" {
		spec.User = "nobody"
	}
	p, err := policies.Policy("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tracker.New(tracker.DefaultConfig(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Resume(0)
	if _, err := c.Submit(1, spec); err != nil {
		t.Fatal(err)
	}
	return sent, c.View().Jobs().At(0).Spec()
}

// at follows a path of JSON names.
func at(t *testing.T, v any, path string) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(path, ".") {
		m, _ = m.(map[string]any)[name]
		if m == nil {
			return nil
		}
	}
	return m
}

// TestInputsReachThePolicies walks everything that a job can tell: each has a flag of every built-in job and of streaming, a
// field of mapreduce.Job and one of the API, and what is given arrives at the policies. There is no flag beside those.
func TestInputsReachThePolicies(t *testing.T) {
	for builtin, base := range map[string][]string{
		"sleep":     {"--maps", "3", "--output", "dfs:/out"},
		"streaming": {"--mapper", "cat", "--input", "dfs:/in", "--output", "dfs:/out"},
	} {
		noneSent, none := submitted(t, builtin, base...)
		for _, in := range policies.Inputs {
			word := "--" + in.Flag
			if given[in.Flag] != "" {
				word += "=" + given[in.Flag]
			}
			sent, got := submitted(t, builtin, append(slices.Clone(base), word)...)
			if was, is := at(t, noneSent, in.API), at(t, sent, in.API); is == nil || was == is {
				t.Errorf("%s %s: the API's %s is %v, without it %v", builtin, word, in.API, is, was)
			}
			for _, f := range in.Fields {
				is, was := reflect.ValueOf(got).Elem().FieldByName(f), reflect.ValueOf(none).Elem().FieldByName(f)
				if reflect.DeepEqual(is.Interface(), was.Interface()) {
					t.Errorf("%s %s: the policies see %s %v, with and without it", builtin, word, f, is)
				}
			}
		}
	}
	var flags []string
	for _, f := range jobs.SchedulingFlags(&mapreduce.Job{}) {
		flags = append(flags, f.Name)
	}
	for _, in := range policies.Inputs {
		flags = slices.DeleteFunc(flags, func(f string) bool { return f == in.Flag })
		v := reflect.ValueOf(mapreduce.Job{})
		for name := range strings.SplitSeq(in.Go, ".") {
			if v = v.FieldByName(name); !v.IsValid() {
				t.Fatalf("mapreduce.Job has no %s", in.Go)
			}
		}
	}
	if len(flags) > 0 {
		t.Errorf("these flags are no inputs: %v", flags)
	}
}

// TestAbsurdInputs: what no job can be like is refused, and the flag is named.
func TestAbsurdInputs(t *testing.T) {
	for _, word := range []string{
		"--weight=-1", "--weight=1e18", "--weight=NaN", "--slowstart=1.5", "--expect-input=-5", "--expect-shuffle=1e40", "--expect-map-time=-3s",
		"--expect-reduce-time=long", "--map-vcores=-1", "--driver-memory=much", "--priority=urgent", "--deadline=-1s", "--reduce-cost=-2", "--recurring=perhaps",
	} {
		flag, _, _ := strings.Cut(word, "=")
		if _, err := jobs.Parse("sleep", []string{"--output", "dfs:/out", word}); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
