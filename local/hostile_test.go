package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

// TestWrongAnswersOfUserCode: a partitioner out of range, a combiner out of order.
func TestWrongAnswersOfUserCode(t *testing.T) {
	partition := func(p int) func(*mapreduce.Job) {
		return func(j *mapreduce.Job) {
			j.Partition = mapreduce.PartitionFunc(func([]byte, []byte, int) int { return p })
		}
	}
	combine := func(key string) func(*mapreduce.Job) {
		return func(j *mapreduce.Job) {
			j.Combine = reducer(mapreduce.ReducerFunc(func(k []byte, _ mapreduce.Values, out mapreduce.Emitter) error {
				if string(k) == "b" {
					out.EmitInt([]byte(key), 1)
				} else {
					out.EmitInt(k, 1)
				}
				return nil
			}))
		}
	}
	for name, c := range map[string]struct {
		words  []string
		change func(*mapreduce.Job)
	}{
		"partition -1":            {[]string{"partition -1", `"a"`, "0..2"}, partition(-1)},
		"partition n":             {[]string{"partition 3", "0..2"}, partition(3)},
		"partition far":           {[]string{"0..2"}, partition(1 << 40)},
		"combiner goes back":      {[]string{"combiner emitted", `"a0"`}, func(j *mapreduce.Job) { combine("a0")(j); j.Reducers = 1; j.Partition = nil }},
		"combiner leaves its lot": {[]string{"combiner of partition", `"c0"`}, combine("c0")},
		"fold with partition n": {[]string{"partition 3", "0..2"}, func(j *mapreduce.Job) {
			partition(3)(j)
			j.Reduce, j.Fold = mapreduce.Reduce{}, mapreduce.Sum
		}},
		"values of no number": {[]string{"int64", "another type"}, func(j *mapreduce.Job) {
			j.Map = mapper(mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
				out.Emit(r.Value, []byte("x"))
				return nil
			}))
		}},
		"too many counters": {[]string{"limit of 1000 counters"}, func(j *mapreduce.Job) {
			j.Map.New = func(t *mapreduce.Task) (mapreduce.Mapper, error) {
				for i := range 2000 {
					t.Counter("g", fmt.Sprint(i)).Add(1)
				}
				return chunkwise{}, nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			job := wordCount(b.write("in", "a a1 b b c\n"), "reduce")
			job.Reducers = 3
			job.Partition = mapreduce.PartitionFunc(func(key, _ []byte, n int) int { return int(key[0]-'a') % n })
			c.change(&job)
			b.fails(local.Config{}, c.words, job)
		})
	}
}

// TestRecordsOverTheLimit fail the job with size and place, and are not tried again.
func TestRecordsOverTheLimit(t *testing.T) {
	const limit = 1000
	big := strings.Repeat("x", limit+1)
	for name, c := range map[string]struct {
		words  []string
		in     string
		change func(*mapreduce.Job)
	}{
		"line":      {[]string{"/in", "offset 6", "1000"}, "first\n" + big + "\n", nil},
		"last line": {[]string{"/in", "offset 6", "1000"}, "first\n" + big, nil},
		"whole file": {[]string{"/in", "1001 bytes", "1000"}, big, func(j *mapreduce.Job) {
			j.Map = mapreduce.Files(func(string, []byte, func(string, int64)) {})
		}},
		"fixed": {[]string{"1001"}, big, func(j *mapreduce.Job) {
			j.Map = mapreduce.Fixed(limit+1, func([]byte, func(string, int64)) {})
		}},
		"emitted": {[]string{"/in", "2004 bytes", "1000", "raise MaxRecordBytes"}, "first\n", func(j *mapreduce.Job) {
			j.Map = mapreduce.Lines(func(_ []byte, emit func(string, string)) { emit(big+big, "xx") })
			j.Reduce = mapreduce.Reduce{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			job := wordCount(b.write("in", c.in), "reduce")
			job.MaxRecordBytes = limit
			if c.change != nil {
				c.change(&job)
			}
			res, _ := b.fails(local.Config{}, c.words, job)
			if res.Retries != 0 {
				t.Errorf("tried again %d times", res.Retries)
			}
		})
	}
	b := newBed(t)
	job := wordCount(b.write("in", "first\n"+big[:limit]+"\n"), "reduce")
	job.MaxRecordBytes = limit + 8 // the word and its count
	if got := b.ok(local.Config{}, job); got != "first\t1\n"+big[:limit]+"\t1\n" {
		t.Errorf("a record just at the limit: output of %d bytes", len(got))
	}
}

// TestOutputPlaces: what may not be written to is refused before anything runs.
func TestOutputPlaces(t *testing.T) {
	b := newBed(t)
	b.write("data/a", "one two\n")
	b.write("data/sub/b", "two\n")
	b.write("file", "not a directory")
	b.write("other/x", "anything")
	b.write("made/part-r-00000", "a")
	b.write("made/_SUCCESS", "")
	if err := os.Symlink(b.dir+"/data", b.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in, out   string
		overwrite bool
		words     []string
	}{
		"inside input":               {"data", "data/out", false, []string{"inside the input", "choose another"}},
		"inside input by link":       {"link", "data/out", false, []string{"inside the input"}},
		"deep inside input":          {"data", "data/x/y/out", false, []string{"inside the input"}},
		"is the input":               {"data", "data", true, []string{"inside the"}},
		"holds the input":            {"data/sub", "data", true, []string{"would be overwritten"}},
		"holds the input by link":    {"link/sub", "data", true, []string{"would be overwritten"}},
		"holds the input by pattern": {"m[a]de", "made", true, []string{"would be overwritten"}},
		"made by nobody":             {"data/a", "other", true, []string{"not the output of a job", `such as "x"`, "remove it yourself"}},
		"exists":                     {"data/a", "data/sub", false, []string{"output exists", "--overwrite"}},
		"below a file":               {"data/a", "file/out", false, []string{"file/out"}},
		"NUL in the name":            {"data/a", "x\x00y", false, []string{"NUL"}},
		"no input, new parents":      {"nowhere", "p/q/out", false, []string{"nowhere"}},
		"a name too long":            {"data/a", strings.Repeat("x", 300), false, []string{"too long"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := tree(t, b.dir)
			job := wordCount(filepath.Join(b.dir, c.in), "fold")
			job.Output = b.dir + "/" + c.out
			_, err := local.Run(t.Context(), local.Config{Scratch: b.tmp, Overwrite: c.overwrite}, job)
			if err == nil {
				t.Fatal("the job ran")
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error lacks %q: %v", w, err)
				}
			}
			if after := tree(t, b.dir); after != before {
				t.Errorf("the files changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// tree lists all files with their content.
func tree(t *testing.T, dir string) string {
	var all bytes.Buffer
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		content := []byte("-")
		if d.Type().IsRegular() {
			content, err = os.ReadFile(p)
		}
		fmt.Fprintf(&all, "%s %s %s\n", p, d.Type(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestOverwrite replaces the old output as a whole, and keeps it if the job fails.
func TestOverwrite(t *testing.T) {
	b := newBed(t)
	in := b.write("in", "a\n")
	b.write("out/part-r-00007", "old\n")
	b.write("out/_SUCCESS", "")
	job := wordCount(in, "fold")
	job.Map = mapper(explodingMapper{true})
	if _, err := b.run(local.Config{Overwrite: true}, job); err == nil {
		t.Fatal("the job ran")
	}
	if got, err := os.ReadFile(b.out + "/part-r-00007"); string(got) != "old\n" {
		t.Errorf("after a failure the old output is %q, %v", got, err)
	}
	if _, err := b.run(local.Config{}, wordCount(in, "fold")); !errors.Is(err, task.ErrOutputExists) {
		t.Errorf("without leave: %v", err)
	}
	if got := b.ok(local.Config{Overwrite: true}, wordCount(in, "fold")); got != "a\t1\n" {
		t.Errorf("the new output is %q", got)
	}
}

// TestEmptyInputs make an empty output, not an error.
func TestEmptyInputs(t *testing.T) {
	b := newBed(t)
	b.write("zero/a", "")
	if err := os.MkdirAll(b.dir+"/dirs/x/y", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"zero", "zero/a", "dirs"} {
		for _, how := range []string{"fold", "combine", "reduce"} {
			if got := b.ok(local.Config{}, wordCount(filepath.Join(b.dir, in), how)); got != "" {
				t.Errorf("%s: wrote %q", in, got)
			}
		}
		job := wordCount(filepath.Join(b.dir, in), "reduce")
		job.Reduce, job.MapOnly = mapreduce.Reduce{}, true
		next := mapreduce.Job{Name: "next", Map: words, Fold: mapreduce.Sum}
		if got := b.ok(local.Config{}, job, next); got != "" {
			t.Errorf("%s, chained: wrote %q", in, got)
		}
	}
}

// failingOutput is a disk that refuses the n-th write.
type failingOutput struct{ at int }

func (f failingOutput) Name() string { return "failing" }

func (f failingOutput) Open(io.Writer, mapreduce.Type, mapreduce.Type) (mapreduce.RecordWriter, error) {
	return &f, nil
}

func (f *failingOutput) Write([]byte, []byte) error {
	f.at--
	if f.at < 0 {
		return errors.New("the disk says no")
	}
	return nil
}

func (f *failingOutput) Close() error { return f.Write(nil, nil) }

// TestFailedOutput: user code that goes on emitting to an output that has failed is
// stopped after the record, and the error is the first one, not a later one.
func TestFailedOutput(t *testing.T) {
	b := newBed(t)
	in := b.write("in", text(9*5000, 1000, 1))
	for _, at := range []int{0, 1, 700, 1 << 30} {
		for _, mapOnly := range []bool{false, true} {
			var calls atomic.Int64
			job := mapreduce.Job{
				Name: "fail", Input: []string{in}, Format: failingOutput{at}, MapOnly: mapOnly, MaxAttempts: 1,
				Map: mapreduce.Lines(func(line []byte, emit func([]byte, int64)) {
					calls.Add(1)
					emit(line, 1)
				}),
			}
			if !mapOnly {
				job.Reducers = 1
			}
			if at == 1<<30 {
				b.ok(local.Config{Workers: 1}, job)
				continue
			}
			b.fails(local.Config{Workers: 1}, []string{"the disk says no"}, job)
			if n := calls.Load(); mapOnly && n > int64(at)+256+1 {
				t.Errorf("the mapper was called %d times, the output failed after %d", n, at)
			}
		}
	}
}

// TestOddNames of files round-trip; names that cannot be are refused.
func TestOddNames(t *testing.T) {
	for _, name := range []string{
		"with space", "new\nline", "\xff\xfe", "a:b", "-x", "--input", "ä", "'quoted'", `back\slash`, "[x]", "star*", "%s", strings.Repeat("n", 255),
		"\x1b[31m", "a\tb", "...", "~", "$HOME", "<script>",
	} {
		b := newBed(t)
		b.write("in/"+name, "a b a\n")
		job := wordCount(b.dir+"/in/"+name, "fold")
		job.Output = b.dir + "/outs/" + name
		if _, err := local.Run(t.Context(), local.Config{Scratch: b.tmp}, job); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		again := mapreduce.Job{Name: "again", Input: []string{job.Output}, Map: words, Fold: mapreduce.Sum}
		if got := b.ok(local.Config{}, again); got != "1\t1\n2\t1\na\t1\nb\t1\n" {
			t.Errorf("%q: read back %q", name, got)
		}
	}
}

// TestSideFiles are found under their base names, also when one is given twice.
func TestSideFiles(t *testing.T) {
	b := newBed(t)
	side := b.write("x/stop.txt", "the")
	job := mapreduce.Job{
		Name: "side", Input: []string{b.write("in", "the end of the line\n")}, SideFiles: []string{side, side},
		Map: mapreduce.LinesWith(func(task *mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
			stop, err := os.ReadFile(task.SideFile("stop.txt"))
			return func(line []byte, emit func([]byte, int64)) {
				for w := range bytes.FieldsSeq(line) {
					if !bytes.Equal(w, stop) {
						emit(w, 1)
					}
				}
			}, err
		}),
		Fold: mapreduce.Sum,
	}
	if got := b.ok(local.Config{}, job); got != "end\t1\nline\t1\nof\t1\n" {
		t.Errorf("wrote %q", got)
	}
	job.SideFiles = []string{b.dir + "/nowhere"}
	b.fails(local.Config{}, []string{"side file", "nowhere"}, job)
	job.SideFiles = []string{side, b.write("y/stop.txt", "")}
	b.fails(local.Config{}, []string{"same base name", "stop.txt"}, job)
}

// TestCountersOfAllTasks: what the tasks of a chain count together may be no more names than a cluster takes.
func TestCountersOfAllTasks(t *testing.T) {
	b := newBed(t)
	job := wordCount(b.write("in", "a\nb\nc\n"), "reduce")
	job.SplitBytes = 2
	job.Map.New = func(t *mapreduce.Task) (mapreduce.Mapper, error) {
		for i := range 400 {
			t.Counter("g", fmt.Sprint(t.Index, ".", i)).Add(1)
		}
		return chunkwise{}, nil
	}
	b.fails(local.Config{}, []string{"1200 different counters: a job may have 1000"}, job)
}
