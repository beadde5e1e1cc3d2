package streaming

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/mapreduce"
)

// pairs is one group of a reduce.
type pairs struct {
	key    string
	values []string
	at     int
}

func (p *pairs) Next() bool    { p.at++; return p.at <= len(p.values) }
func (p *pairs) Key() []byte   { return []byte(p.key) }
func (p *pairs) Value() []byte { return []byte(p.values[p.at-1]) }

func TestReducerReadsSortedPairs(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{Kind: mapreduce.ReduceTask})
	r, err := Reduce("cat").New(a.Task)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*pairs{{key: "a", values: []string{"1", "2"}}, {key: "b", values: []string{""}}} {
		if err := r.Reduce([]byte(g.key), g, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.(mapreduce.Finisher).Finish(a); err != nil {
		t.Fatal(err)
	}
	want := []string{"a\t1|", "a\t2|", "b\t|"}
	if diff := cmp.Diff(want, a.lines); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
}

// TestReducerWithoutInput runs its command all the same.
func TestReducerWithoutInput(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{Kind: mapreduce.ReduceTask})
	r, err := Reduce("wc -c").New(a.Task)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.(mapreduce.Finisher).Finish(a); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0|"}, a.lines); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
}

// TestCombinerSeesSortedPairs, all of them, in as many runs as its memory asks for.
func TestCombinerSeesSortedPairs(t *testing.T) {
	lines := make([]string, 0, 3000)
	want := map[string]int{}
	for i := range cap(lines) {
		key := fmt.Sprintf("k%03d", i*7919%500)
		lines = append(lines, key+"\t"+strings.Repeat("v", 6000)) // about two fillings
		want[key]++
	}
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	// Counts a key's lines, and fails if they are not together.
	const command = `awk -F '\t' '$1 < last { exit 9 } $1 != last { if (NR > 1) print last "\t" n; n = 0; last = $1 } { n++ } END { print last "\t" n }'`
	if err := a.mapLines(Map("cat", command), lines...); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, line := range a.lines {
		var n int
		key, value, _ := strings.Cut(line, "|")
		if _, err := fmt.Sscan(value, &n); err != nil {
			t.Fatal(err)
		}
		got[key] += n
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want, got:\n%.1000s", diff)
	}
	c := a.counts.Snapshot()
	in, out := c.Get(mapreduce.TaskGroup, mapreduce.CombineInputRecords), c.Get(mapreduce.TaskGroup, mapreduce.CombineOutputRecords)
	if in != 3000 || out != int64(len(a.lines)) || out >= in || out <= 500 {
		t.Errorf("combined %d pairs to %d; want 3000 to more than the 500 of a single run", in, out)
	}
}

func TestFailingCombinerFailsTheAttempt(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	err := a.mapLines(Map("cat", "echo no >&2; exit 2"), "a", "b")
	if err == nil || !strings.Contains(err.Error(), "combiner: exit status 2") || !strings.Contains(err.Error(), "no") {
		t.Errorf("ended with %v", err)
	}
}

// TestReporter: counters and status are taken, everything else is log.
func TestReporter(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	err := a.mapLines(Map(`cat >/dev/null
printf 'reporter:counter:words,bad,2\r\nreporter:counter:words,bad,-1\nreporter:status:half way\n' >&2
printf 'reporter:counter:nonsense\nreporter:counter:a,b,many\nplain words\n' >&2
printf 'reporter:counter:words,last,5' >&2; exit 7`, ""), "x")
	if err == nil || !strings.Contains(err.Error(), "plain words") || !strings.Contains(err.Error(), "reporter:counter:nonsense") {
		t.Errorf("the log is not in the error: %v", err)
	}
	want := mapreduce.Counts{"words": {"bad": 1, "last": 5}}
	if diff := cmp.Diff(want, a.counts.Snapshot()); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
	if a.Status() != "half way" {
		t.Errorf("status %q", a.Status())
	}
}

// TestCountersThatMayNotBe fail the attempt with what is wrong with them, at once: the command is not waited for. The engine's own
// counters still have room.
func TestCountersThatMayNotBe(t *testing.T) {
	for command, want := range map[string]string{
		`seq 3000 | sed 's/.*/reporter:counter:g,n&,1/'`:                                        fmt.Sprintf(`counter "g"."n1001" is one more than the limit of %d counters`, mapreduce.MaxCounters),
		`printf 'reporter:counter:g,%s,1\n' $(head -c 2000 /dev/zero | tr '\0' x)`:              "has a name of 2000 bytes: at most 128",
		`printf 'reporter:counter:g,%s,1\n' $(head -c 20000 /dev/zero | tr '\0' x)`:             "has a line of more than 8192 bytes",
		`printf 'reporter:counter:g,a\033[2Jb,1\n'`:                                             "has a name that cannot be printed",
		`printf 'reporter:counter:g,%s,1\nmore\n' $(head -c 200 /dev/zero | tr '\0' x); exit 3`: "has a name of 200 bytes",
	} {
		a := newAttempt(t.Context(), mapreduce.TaskInfo{})
		err := a.mapLines(Map("cat >/dev/null; ("+command+") >&2; sleep 600", ""), "x")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "mapper: ") {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
		if c, err := a.TryCounter(mapreduce.TaskGroup, mapreduce.MapOutputRecords); err != nil || c == nil {
			t.Errorf("%s: the engine's counter: %v", command, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("MILLRACE_SECRET", "not for commands")
	info := mapreduce.TaskInfo{
		Job: "my job", Kind: mapreduce.MapTask, Index: 3, Attempt: 1, Reduces: 7, SideDir: t.TempDir(),
		Params: map[string]string{"stream.x-y": "1\x002"},
	}
	if err := os.WriteFile(info.SideDir+"/side", []byte("here"), 0o644); err != nil {
		t.Fatal(err)
	}
	a := newAttempt(t.Context(), info)
	a.SetInput("/data/in")
	if err := a.mapLines(Map("cat >/dev/null; env; cat side", ""), "x"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"mapreduce_job_name=my job|", "mapreduce_task_partition=3|", "mapreduce_job_reduces=7|",
		"mapreduce_task_ismap=true|", "mapreduce_task_attempt_id=attempt_m_000003_1|",
		"mapreduce_map_input_file=/data/in|", "stream_x_y=12|", "here|",
	} {
		if !slices.Contains(a.lines, want) {
			t.Errorf("no %q in %q", want, a.lines)
		}
	}
	if slices.ContainsFunc(a.lines, func(s string) bool { return strings.Contains(s, "SECRET") }) {
		t.Error("the program's own environment reached the command")
	}
}
