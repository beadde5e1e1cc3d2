// Command bfs finds how many links every page of a graph is away from one: breadth first, a round for each distance. Input are
// links, lines of FROM TO.
//
//	go run ./cmd/millrace gen graph --size 100kB links.txt
//	go run ./examples/bfs -from n0 -input links.txt -output distances
package main

import (
	"errors"
	"flag"
	"iter"
	"strconv"
	"strings"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

var from = flag.String("from", "", "the page to begin with")

// far is the distance of a page that is not reached.
const far = "-"

func main() {
	millrace.MainLoop(millrace.Loop{
		First: []mapreduce.Job{links},
		Round: []mapreduce.Job{step},
		Again: func(done *millrace.Rounded) (map[string]string, bool, error) {
			return nil, done.Counts.Get("bfs", "nearer") > 0, nil
		},
	})
}

// Between rounds a page is a line of its name, a tab, its distance, and the pages it links to.
var links = mapreduce.Job{
	Name: "links",
	Map: mapreduce.Lines(func(line []byte, emit func(page, to string)) {
		f := strings.Fields(string(line))
		emit(f[0], f[1])
		emit(f[1], "") // also a page that links nowhere
	}),
	Reduce: mapreduce.GroupsWith(func(*mapreduce.Task) (func(string, iter.Seq[string], func(string, string)), error) {
		if *from == "" {
			return nil, errors.New("-from is missing: say which page to begin with")
		}
		return func(page string, to iter.Seq[string], emit func(page, state string)) {
			state := far
			if page == *from {
				state = "0"
			}
			for p := range to {
				if p != "" {
					state += " " + p
				}
			}
			emit(page, state)
		}, nil
	}),
}

var step = mapreduce.Job{
	Name: "one link further",
	Map: mapreduce.KeyValues(func(page, state []byte, emit func(page, message string)) {
		emit(string(page), string(state))
		f := strings.Fields(string(state))
		if d, err := strconv.Atoi(f[0]); err == nil {
			for _, to := range f[1:] {
				emit(to, strconv.Itoa(d+1)+" ?") // nobody links to a page of that name
			}
		}
	}),
	Reduce: mapreduce.GroupsWith(func(t *mapreduce.Task) (func(string, iter.Seq[string], func(string, string)), error) {
		nearer := t.Counter("bfs", "nearer")
		return func(page string, messages iter.Seq[string], emit func(string, string)) {
			was, best, next := far, far, ""
			for m := range messages {
				d, rest, _ := strings.Cut(m, " ")
				if rest != "?" {
					was, next = d, rest
				}
				if best == far || d != far && number(d) < number(best) {
					best = d
				}
			}
			if best != was {
				nearer.Add(1)
			}
			emit(page, strings.TrimSpace(best+" "+next))
		}, nil
	}),
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err) // fails the attempt
	}
	return n
}
