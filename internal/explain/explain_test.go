package explain_test

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/explain"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

var words = mapreduce.Lines(func(line []byte, emit func([]byte, int64)) {
	for w := range bytes.FieldsSeq(line) {
		emit(w, 1)
	}
})

var total = mapreduce.Groups(func(word []byte, n iter.Seq[int64], emit func([]byte, int64)) {
	sum := int64(0)
	for v := range n {
		sum += v
	}
	emit(word, sum)
})

const poem = "the fox and the dog\nthe end\n\nfoxes and a fox\nthe dog the fox\na dog and the end\nfox end\n"

// tell runs jobs with a recording and without, wants the same output, and returns the story and the output.
func tell(t *testing.T, text string, stages ...mapreduce.Job) (explain.Story, string) {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, stages []mapreduce.Job) (string, error) {
		stages[0].Input, stages[len(stages)-1].Output = []string{in}, filepath.Join(dir, name)
		if _, err := local.Run(t.Context(), local.DefaultConfig(), stages...); err != nil {
			return "", err
		}
		var all strings.Builder
		parts, _ := filepath.Glob(filepath.Join(dir, name, "part-*"))
		for _, p := range parts {
			b, err := os.ReadFile(p)
			if err != nil {
				return "", err
			}
			all.Write(b)
		}
		return all.String(), nil
	}
	plain, err := run("plain", slices.Clone(stages))
	if err != nil {
		t.Fatal(err)
	}
	stages[0].Input = []string{in}
	watched, recording := explain.Watch(stages, int64(len(text)))
	got, err := run("watched", watched)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := sortedLines(plain), sortedLines(got); !slices.Equal(a, b) {
		t.Fatalf("the run with a recording wrote %q, without it %q", b, a)
	}
	return recording.Story(), got
}

func sortedLines(s string) []string { return slices.Sorted(strings.Lines(s)) }

// The story of every kind of job agrees with the engine: what reduces read is what maps made, and what they emit is the output.
func TestStoriesAreTrue(t *testing.T) {
	byLength := mapreduce.Job{
		Name: "by length", Map: mapreduce.Records(func(w []byte, n int64, emit func(int64, string)) { emit(int64(len(w)), string(w)) }),
		Sort: mapreduce.By(func(a, b int64) int { return int(b - a) }), Reducers: 1,
	}
	for name, stages := range map[string][]mapreduce.Job{
		"fold":        {{Name: "count", Map: words, Fold: mapreduce.Sum}},
		"combine":     {{Name: "count", Map: words, Combine: total, Reduce: total}},
		"reduce":      {{Name: "count", Map: words, Reduce: total, Reducers: 3}},
		"pass on":     {{Name: "pairs", Map: words}},
		"total order": {{Name: "sort", Map: words, Partition: mapreduce.TotalOrder{}}},
		"map only":    {{Name: "only", Map: words, MapOnly: true}},
		"chain":       {{Name: "count", Map: words, Fold: mapreduce.Count}, byLength},
		"largest":     {{Name: "max", Map: words, Fold: mapreduce.Max}},
	} {
		t.Run(name, func(t *testing.T) {
			story, output := tell(t, poem, stages...)
			if len(story.Stages) != len(stages) {
				t.Fatalf("%d stages", len(story.Stages))
			}
			for _, s := range story.Stages {
				checkStage(t, &s)
			}
			var last strings.Builder
			end := story.Stages[len(stages)-1]
			for _, r := range end.Reduces {
				for _, g := range r.Groups {
					for _, p := range g.Out {
						fmt.Fprintf(&last, "%s\t%s\n", p.Key, p.Value)
					}
				}
			}
			for _, m := range end.Maps {
				for _, r := range m.Records {
					for _, p := range r.Pairs {
						if end.MapOnly {
							fmt.Fprintf(&last, "%s\t%s\n", p.Key, p.Value)
						}
					}
				}
			}
			if last.String() != output {
				t.Errorf("the page ends with %q, the output is %q", last.String(), output)
			}
			if name == "chain" && !strings.Contains(fmt.Sprint(end.Maps), "foxes\t1") {
				t.Errorf("the second job reads %v", end.Maps)
			}
			var page bytes.Buffer
			if err := story.Write(&page); err != nil || !strings.Contains(page.String(), "step by step") {
				t.Errorf("%v", err)
			}
		})
	}
}

// checkStage wants what the reduces of a stage read to be what its maps hand over, and each key at one reduce.
func checkStage(t *testing.T, s *explain.StageStory) {
	t.Helper()
	if s.MapOnly {
		return
	}
	if len(s.Maps) < 1 || s.Combine == "" && len(s.Maps) > 1 && len(s.Maps[0].Spills) < 2 {
		t.Errorf("%d maps, %d spills: there is nothing to see", len(s.Maps), len(s.Maps[0].Spills))
	}
	read, made := map[string][]string{}, map[string][]string{}
	for i, r := range s.Reduces {
		for _, g := range r.Groups {
			for _, p := range g.In {
				key := fmt.Sprint(i, " ", p.Key)
				read[key] = append(read[key], p.Value)
			}
		}
	}
	for _, m := range s.Maps {
		for _, run := range append(slices.Clone(m.Spills), m.Merged) {
			if !slices.IsSortedFunc(run, func(a, b explain.Pair) int { return a.Reduce - b.Reduce }) {
				t.Errorf("a run is not sorted by reduce: %v", run)
			}
		}
		for _, p := range m.Merged {
			key := fmt.Sprint(p.Reduce, " ", p.Key)
			made[key] = append(made[key], p.Value)
		}
	}
	for key, values := range made {
		got := read[key]
		if s.Combine == "" {
			slices.Sort(values)
			slices.Sort(got)
			if !slices.Equal(values, got) {
				t.Errorf("%s: maps made %q, reduces read %q", key, values, got)
			}
		}
		if len(got) == 0 {
			t.Errorf("%s never came to its reduce", key)
		}
	}
	if len(read) != len(made) {
		t.Errorf("%d keys were made, %d read", len(made), len(read))
	}
}

// Too much is refused with what to do, and text of any kind stays inside the page.
func TestLimits(t *testing.T) {
	watch := func(text string) error {
		in := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		jobs, _ := explain.Watch([]mapreduce.Job{{Name: "count", Input: []string{in}, Output: in + ".out", Map: words, Fold: mapreduce.Sum, MaxAttempts: 1}}, int64(len(text)))
		_, err := local.Run(t.Context(), local.DefaultConfig(), jobs...)
		return err
	}
	if err := watch(strings.Repeat("a\n", explain.MaxRecords+1)); err == nil || !strings.Contains(err.Error(), "up to 300 records") {
		t.Errorf("many records: %v", err)
	}
	if err := watch(strings.Repeat("a ", explain.MaxPairs+1)); err == nil || !strings.Contains(err.Error(), "up to 3000 pairs") {
		t.Errorf("many pairs: %v", err)
	}
	story, _ := tell(t, "</script><script>alert(1)</script> \xff\xfe "+strings.Repeat("x", 5000)+"\n", mapreduce.Job{Name: "odd", Map: words, Fold: mapreduce.Sum})
	var page bytes.Buffer
	if err := story.Write(&page); err != nil || strings.Contains(page.String(), "<script>alert") || page.Len() > 40_000 {
		t.Errorf("%d bytes, %v", page.Len(), err)
	}
}

// Keys that are no text are shown byte by byte; keys of a type as what they mean; values that are no text with escapes.
func TestBinaryKeys(t *testing.T) {
	halves := mapreduce.Job{Name: "halves", Map: mapreduce.Lines(func(line []byte, emit func([]byte, []byte)) { emit(line[:3], line[3:]) }), Reducers: 1}
	keys := func(s explain.Story) (out []string) {
		for _, g := range s.Stages[0].Reduces[0].Groups {
			out = append(out, g.Key+" = "+g.In[0].Value)
		}
		return out
	}
	story, _ := tell(t, "A\xff\x00\x01\"\nB\\C\"\n\x00é-\n", halves)
	want := []string{`00 c3 a9  ··· = -`, `41 ff 00  A·· = \x01\"`, `B\C = "`}
	if got := keys(story); !slices.Equal(got, want) {
		t.Errorf("bytes: %q, want %q", got, want)
	}
	type spot struct{ X, Y int64 }
	spots := mapreduce.Job{Name: "spots", Map: mapreduce.Lines(func(line []byte, emit func(spot, int64)) { emit(spot{int64(len(line)), -1}, 7) }), Reducers: 1}
	story, _ = tell(t, "one\nthree\n", spots)
	if got, want := keys(story), []string{`{"X":3,"Y":-1} = 7`, `{"X":5,"Y":-1} = 7`}; !slices.Equal(got, want) {
		t.Errorf("a type: %q, want %q", got, want)
	}
}
