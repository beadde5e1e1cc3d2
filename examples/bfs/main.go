// Command bfs finds how many links every page of a graph is away from one: breadth first, a round for each distance. Input are
// links, lines of FROM TO.
//
//	go run ./cmd/millrace gen graph --size 100kB links.txt
//	go run ./examples/bfs -from n0 -input links.txt -output distances
package main

import (
	"flag"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

var from = flag.String("from", "", "the page to begin with")

const far = 1 << 30 // not reached yet

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
	Reduce: mapreduce.Groups(func(page string, to iter.Seq[string], emit func(page, state string)) {
		distance, next := far, ""
		for p := range to {
			if p != "" {
				next += " " + p
			}
		}
		if page == *from {
			distance = 0
		}
		emit(page, strconv.Itoa(distance)+next)
	}),
}

var step = mapreduce.Job{
	Name: "one link further",
	Map: mapreduce.KeyValues(func(page, state []byte, emit func(page, message string)) {
		emit(string(page), string(state))
		f := strings.Fields(string(state))
		if d, _ := strconv.Atoi(f[0]); d < far {
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
				distance, err := strconv.Atoi(d)
				if err != nil {
					panic(fmt.Sprintf("%s: %q", page, m))
				}
				if rest != "?" {
					was, next = distance, rest
				}
				best = min(best, distance)
			}
			if best < was {
				nearer.Add(1)
			}
			emit(page, strings.TrimSpace(strconv.Itoa(best)+" "+next))
		}, nil
	}),
}
