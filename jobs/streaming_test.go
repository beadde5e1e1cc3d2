package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
)

// The word count of every Hadoop Streaming tutorial, unchanged.
const (
	mapPy = `import sys
for line in sys.stdin:
    words = line.strip().split()
    for word in words:
        print('%s\t%s' % (word, 1))
sys.stderr.write("reporter:counter:python,mappers,1\n")
sys.stderr.write("reporter:status:mapped\n")
`
	reducePy = `import sys
current, count = None, 0
for line in sys.stdin:
    word, n = line.rstrip('\n').split('\t', 1)
    if word == current:
        count += int(n)
    else:
        if current is not None:
            print('%s\t%s' % (current, count))
        current, count = word, int(n)
if current is not None:
    print('%s\t%s' % (current, count))
`
)

func TestStreamingPythonAgainstWordCount(t *testing.T) {
	b := newBed(t)
	// The interpreter itself, not a script that looks for one each time.
	python := strings.TrimSpace(b.shell("%s -c 'import sys; print(sys.executable)'", require.Tool(t, "python3"))) + " -S"
	in := b.write("in", zipfText(t, 200_000))
	mapFile, reduceFile := b.write("wc/map.py", []byte(mapPy)), b.write("wc/reduce.py", []byte(reducePy))
	words := []string{
		"--input", in, "--split-bytes", "110000", "--file", mapFile, "--file", reduceFile,
		"--mapper", python + " map.py", "--reducer", python + " reduce.py",
	}
	want, _ := b.run(setup{reducers: 1}, "wordcount", "--input", in)
	for _, s := range []setup{{1 << 20, 1, 1, "none"}, {1 << 20, 4, 5, "s2"}, {64 << 20, 2, 1, "zstd"}} {
		got, res := b.run(s, "streaming", words...)
		same(t, s, want, sortedText(got))
		if n := res.Counts.Get("python", "mappers"); n != 2 {
			t.Errorf("%v: counted %d mappers, want 2", s, n)
		}
		got, res = b.run(s, "streaming", append(words, "--combiner", python+" reduce.py")...)
		same(t, s, want, sortedText(got))
		if in, out := res.Counts.Get("task", "combine_input_records"), res.Counts.Get("task", "combine_output_records"); in <= out {
			t.Errorf("%v: combined %d pairs to %d", s, in, out)
		}
	}
}

// TestStreamingMapOnly keeps the order of lines.
func TestStreamingMapOnly(t *testing.T) {
	b := newBed(t)
	in := b.write("in", oddText(3000))
	got, _ := b.run(setup{workers: 3}, "streaming", "--mapper", "cat", "--input", in, "--split-bytes", "30000")
	same(t, named("cat"), string(oddText(3000))+"\n", got)
}

func TestStreamingFailures(t *testing.T) {
	b := newBed(t)
	in := b.write("in", []byte("a\nb\n"))
	for name, c := range map[string]struct {
		words []string
		want  []string
	}{
		"mapper exits with 3":   {[]string{"--mapper", "echo sorry >&2; exit 3"}, []string{"mapper: exit status 3", "sorry", "failed 4 times"}},
		"reducer exits with 4":  {[]string{"--mapper", "cat", "--reducer", "exit 4"}, []string{"reducer: exit status 4", "failed 4 times"}},
		"combiner exits with 5": {[]string{"--mapper", "cat", "--combiner", "exit 5", "--reducer", "cat"}, []string{"combiner: exit status 5"}},
		"a missing file":        {[]string{"--mapper", "cat", "--file", b.path("nowhere.py")}, []string{"side file", "nowhere.py"}},
		"no mapper":             {nil, []string{"--mapper"}},
		"combiner alone":        {[]string{"--mapper", "cat", "--combiner", "cat"}, []string{"--combiner needs a --reducer"}},
		"skipping":              {[]string{"--mapper", "cat", "--skip-bad-records", "1"}, []string{"--skip-bad-records"}},
		"a line over the limit": {[]string{"--mapper", "head -c 2000000 /dev/zero", "--max-record-bytes", "1000000"}, []string{"more than 1000000 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := b.try(setup{}, "streaming", append(c.words, "--input", in)...)
			for _, w := range c.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("the error lacks %q: %v", w, err)
				}
			}
		})
	}
}

// TestStreamingRetries: a command that fails the first time is run again.
func TestStreamingRetries(t *testing.T) {
	b := newBed(t)
	in := b.write("in", []byte("a\nb\n"))
	got, res := b.run(setup{}, "streaming", "--input", in, "--mapper",
		`case $mapreduce_task_attempt_id in *_0) head -n 1; exit 9;; *) cat;; esac`)
	same(t, named("second attempt"), "a\nb\n", got)
	if res.Retries != 1 {
		t.Errorf("%d retries, want 1", res.Retries)
	}
}

// TestStreamingInputError: the command of an attempt that fails elsewhere ends too.
func TestStreamingInputError(t *testing.T) {
	b := newBed(t)
	long := strings.Repeat("x", 2000)
	_, _, err := b.try(setup{}, "streaming", "--input", b.write("in", []byte(strings.Repeat("a\n", 3000)+long)),
		"--max-record-bytes", "1000", "--mapper", "cat; exit # "+b.dir)
	if err == nil || !strings.Contains(err.Error(), "offset 6000") {
		t.Errorf("ended with %v", err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Skipf("no list of processes: %v", err)
	}
	for _, f := range lines {
		if line, err := os.ReadFile(f); err == nil && strings.Contains(string(line), b.dir) {
			t.Errorf("%s lives on: %q", f, line)
		}
	}
}

// TestStreamingCancel: a command that never ends goes with its job.
func TestStreamingCancel(t *testing.T) {
	b := newBed(t)
	pids := b.path("pids")
	stages, err := jobs.Parse("streaming", []string{
		"--input", b.write("in", []byte("a\n")), "--output", b.path("out"),
		"--mapper", "sleep 1000 & echo $! >>" + pids + "; echo $$ >>" + pids + "; wait",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if data, _ := os.ReadFile(pids); strings.Count(string(data), "\n") == 2 {
				return
			}
		}
	}()
	_, err = local.Run(ctx, local.Config{Scratch: b.path("scratch")}, stages...)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	for pid := range strings.FieldsSeq(b.shell("cat %s", pids)) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z") {
			t.Errorf("process %s lives on", pid)
		}
	}
}

// TestStreamingFloods: standard error without end of line, and far too much of it.
func TestStreamingFloods(t *testing.T) {
	b := newBed(t)
	in := b.write("in", []byte("a\n"))
	got, _ := b.run(setup{memory: 1 << 20}, "streaming", "--input", in, "--mapper",
		"head -c 3000000 /dev/zero >&2; seq 200000 >&2; cat")
	same(t, named("flood"), "a\n", got)
}
