// Command pagerank ranks the pages of a graph by who links to them, in rounds until the ranks stay as they are. Input are links,
// lines of FROM TO.
//
//	go run ./cmd/millrace gen graph --size 100kB links.txt
//	go run ./examples/pagerank -input links.txt -output ranks
package main

import (
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

const (
	damping = 0.85
	enough  = 1e-4 // a rank that changes by less stays as it is
)

func main() {
	millrace.MainLoop(millrace.Loop{
		First: []mapreduce.Job{links},
		Round: []mapreduce.Job{spread},
		Again: func(done *millrace.Rounded) (map[string]string, bool, error) {
			return nil, done.Counts.Get("pagerank", "changed") > 0, nil
		},
	})
}

// Between rounds a page is a line of its name, a tab, its rank, and the pages it links to.
var links = mapreduce.Job{
	Name: "links",
	Map: mapreduce.Lines(func(line []byte, emit func(page, to string)) {
		f := strings.Fields(string(line))
		emit(f[0], f[1])
		emit(f[1], "") // also a page that links nowhere
	}),
	Reduce: mapreduce.Groups(func(page string, to iter.Seq[string], emit func(page, state string)) {
		var next strings.Builder
		for p := range to {
			if p != "" {
				next.WriteString(" " + p)
			}
		}
		emit(page, "1"+next.String())
	}),
}

var spread = mapreduce.Job{
	Name: "spread ranks",
	Map: mapreduce.KeyValues(func(page, state []byte, emit func(page, message string)) {
		emit(string(page), "="+string(state)) // the page itself
		f := strings.Fields(string(state))
		rank, _ := strconv.ParseFloat(f[0], 64)
		for _, to := range f[1:] {
			emit(to, strconv.FormatFloat(rank/float64(len(f)-1), 'g', -1, 64))
		}
	}),
	Reduce: mapreduce.GroupsWith(func(t *mapreduce.Task) (func(string, iter.Seq[string], func(string, string)), error) {
		changed := t.Counter("pagerank", "changed")
		return func(page string, messages iter.Seq[string], emit func(string, string)) {
			was, next, sum := 0.0, "", 0.0
			for m := range messages {
				if state, itself := strings.CutPrefix(m, "="); itself {
					rank, to, _ := strings.Cut(state, " ")
					was, _ = strconv.ParseFloat(rank, 64)
					next = to
					continue
				}
				part, _ := strconv.ParseFloat(m, 64)
				sum += part
			}
			rank := 1 - damping + damping*sum
			if math.Abs(rank-was) >= enough {
				changed.Add(1)
			}
			emit(page, strings.TrimSpace(strconv.FormatFloat(rank, 'f', 6, 64)+" "+next))
		}, nil
	}),
}
