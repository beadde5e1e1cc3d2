package mapreduce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// write puts text into a file of the current directory.
func write(name, text string) {
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		panic(err)
	}
}

// run runs a job, or a chain of jobs, over a file with that text and prints what the
// job writes, then the error if there is one. Everything happens in a directory that
// is removed afterwards; write puts further files there first.
func run(text string, stages ...mapreduce.Job) {
	first, last := &stages[0], &stages[len(stages)-1]
	if len(first.Input) == 0 && len(first.Inputs) == 0 {
		write("in.txt", text)
		first.Input = []string{"in.txt"}
	}
	last.Output = "out"
	if _, err := local.Run(context.Background(), local.Config{Workers: 1}, stages...); err != nil {
		fmt.Println("error:", err)
	}
	parts, _ := filepath.Glob("out/part-*")
	for _, p := range parts {
		content, err := os.ReadFile(p)
		if err != nil {
			panic(err)
		}
		fmt.Print(string(content))
	}
}

// inTemp makes a new directory the current one; the function that it returns leaves
// and removes it.
func inTemp() func() {
	before, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	if err := os.Chdir(dir); err != nil {
		panic(err)
	}
	return func() {
		if err := os.Chdir(before); err != nil {
			panic(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			panic(err)
		}
	}
}

// words emits each word of a line with 1. Many examples start with it.
func words(line []byte, emit func(word []byte, n int64)) {
	for word := range bytes.FieldsSeq(line) {
		emit(word, 1)
	}
}

// sum adds up the values of a key.
func sum(word string, ns iter.Seq[int64], emit func(word string, n int64)) {
	var total int64
	for n := range ns {
		total += n
	}
	emit(word, total)
}

// The word count: a map and a fold.
func Example() {
	defer inTemp()()
	run("to be or not to be\n", mapreduce.Job{
		Name: "wordcount",
		Map: mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
			for word := range bytes.FieldsSeq(line) {
				emit(word, 1)
			}
		}),
		Fold: mapreduce.Sum,
	})
	// Output:
	// be	2
	// not	1
	// or	1
	// to	2
}

// A job is a value: copy it, change a field, run it again.
func ExampleJob() {
	defer inTemp()()
	job := mapreduce.Job{
		Name:   "wordcount",
		Map:    mapreduce.Lines(words),
		Reduce: mapreduce.Groups(sum),
	}
	run("a b a\n", job)

	defer inTemp()()
	combined := job
	combined.Name, combined.Combine = "with a combiner", mapreduce.Groups(sum)
	run("a b a\n", combined)
	// Output:
	// a	2
	// b	1
	// a	2
	// b	1
}

// Each job of a chain reads what the one before wrote: here, words by their counts.
func ExampleJob_chain() {
	defer inTemp()()
	count := mapreduce.Job{Name: "count", Map: mapreduce.Lines(words), Fold: mapreduce.Sum}
	order := mapreduce.Job{
		Name: "order",
		Map: mapreduce.Records(func(word string, n int64, emit func(n int64, word string)) {
			emit(n, word)
		}),
		Sort: mapreduce.Descending,
	}
	run("a b a c a b\n", count, order)
	// Output:
	// 3	a
	// 2	b
	// 1	c
}

// Without a reduce, map output is written as it comes, in the order of the input.
func ExampleJob_mapOnly() {
	defer inTemp()()
	run("keep this\ndrop that\nkeep it\n", mapreduce.Job{
		Name: "grep",
		Map: mapreduce.Lines(func(line []byte, emit func([]byte, mapreduce.None)) {
			if bytes.HasPrefix(line, []byte("keep")) {
				emit(line, mapreduce.None{})
			}
		}),
		MapOnly: true,
	})
	// Output:
	// keep this
	// keep it
}

// Secondary sort: the key holds a user and a time, all keys of a user make one group,
// and the values come in the order of the times.
func ExampleJob_secondarySort() {
	defer inTemp()()
	user := func(key []byte) []byte { name, _, _ := bytes.Cut(key, []byte{' '}); return name }
	run("bob 3\tlogout\nann 1\tlogin\nbob 1\tlogin\nbob 2\tbuy\n", mapreduce.Job{
		Name: "sessions",
		Map: mapreduce.KeyValues(func(key, value []byte, emit func(k, v []byte)) {
			emit(key, value)
		}),
		Group: mapreduce.ByKey(user),
		Reduce: mapreduce.Pairs(func(events iter.Seq2[[]byte, []byte], emit func(user, path string)) {
			var who, path string
			for key, event := range events {
				_, time, _ := strings.Cut(string(key), " ")
				who = string(user(key))
				path += "/" + time + ":" + string(event)
			}
			emit(who, path)
		}),
	})
	// Output:
	// ann	/1:login
	// bob	/1:login/2:buy/3:logout
}

// Records that the mapper fails on may be left out, up to a number.
func ExampleJob_skipBadRecords() {
	defer inTemp()()
	job := mapreduce.Job{
		Name: "squares",
		Map: mapreduce.Lines(func(line []byte, emit func(n, square int)) {
			var n int
			if _, err := fmt.Sscan(string(line), &n); err != nil {
				panic(err)
			}
			emit(n, n*n)
		}),
		SkipBadRecords: 1,
	}
	run("2\nthree\n4\n", job)
	// Output:
	// 2	4
	// 4	16
}

// The result of a run names the records that were left out.
func ExampleBadRecord() {
	defer inTemp()()
	write("in.txt", "2\nthree\n4\n")
	res, err := local.Run(context.Background(), local.Config{Workers: 1}, mapreduce.Job{
		Name: "squares", Input: []string{"in.txt"}, Output: "out", SkipBadRecords: 1,
		Map: mapreduce.Lines(func(line []byte, emit func(n, square int)) {
			n, err := strconv.Atoi(string(line))
			if err != nil {
				panic(err)
			}
			emit(n, n*n)
		}),
	})
	for _, bad := range res.Skipped {
		fmt.Println(bad.File, bad.Offset, strings.Contains(bad.Reason, "three"), err)
	}
	// Output:
	// in.txt 2 true <nil>
}

// Side files travel to every attempt.
func ExampleJob_sideFiles() {
	defer inTemp()()
	write("stop.txt", "the\nof\n")
	run("the end of the line\n", mapreduce.Job{
		Name:      "wordcount",
		SideFiles: []string{"stop.txt"},
		Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func(string, int64)), error) {
			stop, err := os.ReadFile(t.SideFile("stop.txt"))
			return func(line []byte, emit func(string, int64)) {
				for word := range bytes.FieldsSeq(line) {
					if !bytes.Contains(stop, append(word, '\n')) {
						emit(string(word), 1)
					}
				}
			}, err
		}),
		Fold: mapreduce.Sum,
	})
	// Output:
	// end	1
	// line	1
}

// Validate says what is wrong before anything runs.
func ExampleJob_Validate() {
	job := mapreduce.Job{Name: "wrong", Map: mapreduce.Lines(words), Input: []string{"in"}, Output: "out", Reducers: 1_000_000}
	fmt.Println(job.Validate())
	// Output: Reducers is 1000000, must be in 0..100000
}

// What is wrong with a field can be told in other words, such as the name of a flag.
func ExampleFieldError() {
	job := mapreduce.Job{Name: "wrong", Map: mapreduce.Lines(words), Input: []string{"in"}, Output: "out", MaxAttempts: 101}
	if wrong, ok := errors.AsType[*mapreduce.FieldError](job.Validate()); ok {
		fmt.Println(wrong.Field)
		fmt.Println(wrong.Problem)
	}
	// Output:
	// MaxAttempts
	// is 101, must be in 0..100
}

// Several inputs with a map each: a join of users and visits.
func ExampleInput() {
	defer inTemp()()
	write("users.tsv", "1\tann\n2\tbob\n")
	write("visits.tsv", "2\t/home\n1\t/shop\n2\t/cart\n")
	tagged := func(tag string) mapreduce.Map {
		return mapreduce.KeyValues(func(id, rest []byte, emit func(id string, tagged string)) {
			emit(string(id), tag+string(rest))
		})
	}
	run("", mapreduce.Job{
		Name: "join",
		Inputs: []mapreduce.Input{
			{Paths: []string{"users.tsv"}, Map: tagged("u")},
			{Paths: []string{"visits.tsv"}, Map: tagged("v")},
		},
		Reduce: mapreduce.Groups(func(_ string, rows iter.Seq[string], emit func(name string, pages []string)) {
			var name string
			var pages []string
			for row := range rows {
				if row[0] == 'u' {
					name = row[1:]
				} else {
					pages = append(pages, row[1:])
				}
			}
			emit(name, pages)
		}),
	})
	// Output:
	// ann	["/shop"]
	// bob	["/home","/cart"]
}

// Priorities order the jobs of a queue; they have names for flags and files.
func ExamplePriority() {
	p, err := mapreduce.ParsePriority("very-high")
	fmt.Println(p, p > mapreduce.Normal, err)
	_, err = mapreduce.ParsePriority("urgent")
	fmt.Println(err)
	// Output:
	// very-high true <nil>
	// priority "urgent" is not one of very-low, low, normal, high, very-high
}

// A nightly job tells the scheduler of a cluster what is known of it.
func ExampleScheduling() {
	job := mapreduce.Job{
		Name: "nightly", Deadline: 10 * time.Minute,
		Scheduling: mapreduce.Scheduling{
			Recurring: true, Weight: 2, Slowstart: 0.8,
			ReduceDemand: mapreduce.Demand{VCores: 2, MemoryBytes: 1 << 30},
			Expect:       mapreduce.Expect{InputBytes: 20e9, MapTime: 12 * time.Second},
		},
	}
	fmt.Println(job.Name, job.Scheduling.Weight, job.Scheduling.Expect.MapTime)
	// Output: nightly 2 12s
}

// A reduce that keeps a table in memory asks for more of it than a map.
func ExampleDemand() {
	big := mapreduce.Demand{VCores: 1, MemoryBytes: 4 << 30}
	job := mapreduce.Job{Name: "join", Scheduling: mapreduce.Scheduling{ReduceDemand: big}}
	fmt.Println(job.Scheduling.ReduceDemand.MemoryBytes>>30, "GiB")
	// Output: 4 GiB
}

// What is expected cannot be negative.
func ExampleExpect() {
	job := mapreduce.Job{
		Name: "j", Input: []string{"in"}, Output: "out", Map: mapreduce.Lines(words),
		Scheduling: mapreduce.Scheduling{Expect: mapreduce.Expect{InputBytes: -1}},
	}
	fmt.Println(job.Validate())
	// Output: Scheduling.Expect.InputBytes is -1, must be in 0..2^56
}
