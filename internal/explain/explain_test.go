package explain_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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

// tellWith is tell where some of the job's code is told that others have begun.
func tellWith(t *testing.T, told *bool, text string, stages ...mapreduce.Job) (explain.Story, string) {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	stages[0].Input, stages[len(stages)-1].Output = []string{in}, filepath.Join(dir, "out")
	watched, recording := explain.Watch(stages, int64(len(text)))
	*told = false
	_, err := local.Run(t.Context(), local.DefaultConfig(), watched...)
	if *told = true; err != nil {
		t.Fatal(err)
	}
	return recording.Story(), ""
}

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

// at is a mapper that keeps the last word of its input to the end.
type atEnd struct{ last []byte }

func (a *atEnd) Map(rec mapreduce.Record, out mapreduce.Emitter) error {
	for w := range bytes.FieldsSeq(rec.Value) {
		if a.last != nil {
			out.EmitInt(a.last, 1)
		}
		a.last = bytes.Clone(w)
	}
	return nil
}

func (a *atEnd) Finish(out mapreduce.Emitter) error {
	out.EmitInt(a.last, 1)
	return nil
}

// brief writes pairs as words.
func brief(pairs []explain.Pair) string {
	var b strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&b, "%s%s ", p.Key, p.Value)
	}
	return strings.TrimSpace(b.String())
}

// TestSpillsOfAStory: a map of the page spills when it holds six pairs, and at its end what is left; each run is in order and has one pair for
// each key where the job folds or combines, and so has what the reduces fetch. Who emits at the end of its input is shown to.
func TestSpillsOfAStory(t *testing.T) {
	number := mapreduce.Lines(func(line []byte, emit func([]byte, int64)) {
		for w := range bytes.FieldsSeq(line) {
			emit(w[:1], int64(w[1]-'0'))
		}
	})
	late := mapreduce.Map{New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return &atEnd{}, nil }, Value: mapreduce.Int64}
	told := true
	shy := mapreduce.Groups(func(word []byte, n iter.Seq[int64], emit func([]byte, int64)) {
		if told {
			panic("not before others")
		}
		emit(word, 7)
	})
	const text = "b1 a2 a3 b4 a5 c6 a7 a1\n"
	for name, x := range map[string]struct {
		job            mapreduce.Job
		text           string
		spills, merged string
	}{
		"six":      {mapreduce.Job{Map: number, Reduce: total}, "b1 a2 a3 b4 a5 c6", "a2 a3 a5 b1 b4 c6", "a2 a3 a5 b1 b4 c6"},
		"eight":    {mapreduce.Job{Map: number, Reduce: total}, text, "a2 a3 a5 b1 b4 c6 | a7 a1", "a2 a3 a5 a7 a1 b1 b4 c6"},
		"sum":      {mapreduce.Job{Map: number, Fold: mapreduce.Sum}, text, "a10 b5 c6 | a8", "a18 b5 c6"},
		"max":      {mapreduce.Job{Map: number, Fold: mapreduce.Max}, text, "a5 b4 c6 | a7", "a7 b4 c6"},
		"min":      {mapreduce.Job{Map: number, Fold: mapreduce.Min}, text, "a2 b1 c6 | a1", "a1 b1 c6"},
		"count":    {mapreduce.Job{Map: number, Fold: mapreduce.Count}, text, "a3 b2 c1 | a2", "a5 b2 c1"},
		"combine":  {mapreduce.Job{Map: number, Combine: total, Reduce: total}, text, "a10 b5 c6 | a8", "a18 b5 c6"},
		"shy":      {mapreduce.Job{Map: number, Combine: shy, Reduce: total}, text, "a2 a3 a5 b1 b4 c6 | a7 a1", "a2 a3 a5 a7 a1 b1 b4 c6"},
		"map only": {mapreduce.Job{Map: number, MapOnly: true}, text, "", "b1 a2 a3 b4 a5 c6 a7 a1"},
		"at end":   {mapreduce.Job{Map: late, Reduce: total}, "a b c", "a1 b1 c1", "a1 b1 c1"},
	} {
		job := x.job
		job.Name, job.SplitBytes = name, 1<<20
		if !job.MapOnly {
			job.Reducers = 1
		}
		told = false
		story, _ := tell(t, x.text, job)
		told = true
		if name == "shy" {
			story, _ = tellWith(t, &told, x.text, job)
		}
		m := story.Stages[0].Maps[0]
		var spills []string
		for _, s := range m.Spills {
			spills = append(spills, brief(s))
		}
		merged := brief(m.Merged)
		if job.MapOnly {
			merged = ""
			for _, r := range m.Records {
				merged += brief(r.Pairs)
			}
		}
		if got := strings.Join(spills, " | "); got != x.spills || merged != x.merged {
			t.Errorf("%s: spilled %q and merged %q, want %q and %q", name, got, merged, x.spills, x.merged)
		}
		if last := m.Records[len(m.Records)-1]; name == "at end" && (last.Text != "(at the end)" || brief(last.Pairs) != "c1") {
			t.Errorf("at the end: %+v", last)
		}
	}
}

// TestStoriesAreCut: a job that does not say gets three splits and two reduces; what says so keeps its own.
func TestStoriesAreCut(t *testing.T) {
	text := strings.Repeat("fox\n", 100)
	for n := range 4 { // whatever is left over of a split
		story, _ := tell(t, text[:len(text)-4*n], mapreduce.Job{Name: "count", Map: words, Reduce: total})
		if s := story.Stages[0]; len(s.Maps) != 3 || len(s.Reduces) != 2 {
			t.Errorf("%d maps and %d reduces", len(s.Maps), len(s.Reduces))
		}
	}
	story, _ := tell(t, text, mapreduce.Job{Name: "count", Map: words, Reduce: total, SplitBytes: 1000, Reducers: 4})
	if s := story.Stages[0]; len(s.Maps) != 1 || len(s.Reduces) != 4 {
		t.Errorf("%d maps and %d reduces", len(s.Maps), len(s.Reduces))
	}
	for letters, cut := range map[int]bool{199: false, 200: false, 201: true, 500: true} {
		story, _ := tell(t, strings.Repeat("x", letters)+"\n", mapreduce.Job{Name: "long", Map: words, Reducers: 1})
		key := story.Stages[0].Reduces[0].Groups[0].Key
		if strings.HasSuffix(key, "…") != cut || len(strings.TrimSuffix(key, "…")) != min(letters, 200) {
			t.Errorf("a word of %d letters is shown as %d: %q", letters, len(key), key)
		}
	}
	story, _ = tell(t, strings.Repeat("é", 150)+"\n", mapreduce.Job{Name: "long", Map: words, Reducers: 1})
	if key := story.Stages[0].Reduces[0].Groups[0].Key; key != strings.Repeat("é", 100)+"…" {
		t.Errorf("a word of 300 bytes is shown as %q", key)
	}
}

// TestFaultsAreShownOnce: a map that fails is not tried again, whatever the job says.
func TestFaultsAreShownOnce(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("fox\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var tries atomic.Int32
	bad := mapreduce.Map{New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
		tries.Add(1)
		return nil, errors.New("no")
	}}
	jobs, _ := explain.Watch([]mapreduce.Job{{Name: "bad", Input: []string{in}, Output: in + ".out", Map: bad, MaxAttempts: 4, SplitBytes: 100}}, 4)
	if _, err := local.Run(t.Context(), local.DefaultConfig(), jobs...); err == nil || tries.Load() != 1 {
		t.Errorf("%d tries: %v", tries.Load(), err)
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
	if err := watch(strings.Repeat("a\n", explain.MaxRecords)); err != nil {
		t.Errorf("as many records as may be: %v", err)
	}
	if err := watch(strings.Repeat("a ", explain.MaxPairs-1)); err != nil { // and one that the reduce makes
		t.Errorf("as many pairs as may be: %v", err)
	}
	if err := watch(strings.Repeat("a ", explain.MaxPairs)); err == nil {
		t.Error("one pair more than may be is shown")
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
