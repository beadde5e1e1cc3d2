// Command kmeans finds k centres of points, lines of X Y: each point goes to the nearest centre, each centre to the middle of its
// points, in rounds until no centre moves. Every round reads the points; the centres travel as a parameter of its tasks.
//
//	go run ./cmd/millrace gen points --size 100kB points.txt
//	go run ./examples/kmeans -k 5 -input points.txt -output centres
package main

import (
	"flag"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

var k = flag.Int("k", 5, "how many centres to find")

type (
	point struct{ X, Y float64 }
	sum   struct {
		X, Y   float64
		Points int64
	}
)

func main() {
	millrace.MainLoop(millrace.Loop{
		Round: []mapreduce.Job{{
			Name:    "k-means",
			Map:     mapreduce.LinesWith(toNearest),
			Combine: mapreduce.Groups(func(i int64, parts iter.Seq[sum], emit func(int64, sum)) { emit(i, total(parts)) }),
			Reduce: mapreduce.Groups(func(i int64, parts iter.Seq[sum], emit func(int64, string)) {
				all := total(parts)
				n := float64(all.Points)
				emit(i, fmt.Sprintf("%.3f %.3f", all.X/n, all.Y/n))
			}),
			Reducers: 1,
		}},
		Reread: true,
		Again:  again(),
	})
}

// toNearest gives each point to the nearest centre: those that the task is told, or some on a circle.
func toNearest(t *mapreduce.Task) (func([]byte, func(int64, sum)), error) {
	if *k < 1 {
		return nil, fmt.Errorf("-k is %d, must be at least 1", *k)
	}
	var centres []point
	for line := range strings.Lines(t.Param("centres")) {
		var i int
		var p point
		if _, err := fmt.Sscan(line, &i, &p.X, &p.Y); err != nil {
			return nil, fmt.Errorf("centre %q: %w", line, err)
		}
		centres = append(centres, p)
	}
	for i := len(centres); i < *k; i++ {
		angle := 2 * math.Pi * float64(i) / float64(*k)
		centres = append(centres, point{math.Cos(angle), math.Sin(angle)})
	}
	return func(line []byte, emit func(int64, sum)) {
		var p point
		if _, err := fmt.Sscan(string(line), &p.X, &p.Y); err != nil {
			panic(err) // fails the attempt, with the place of the line
		}
		best, least := 0, math.Inf(1)
		for i, c := range centres {
			if d := math.Hypot(p.X-c.X, p.Y-c.Y); d < least {
				best, least = i, d
			}
		}
		emit(int64(best), sum{p.X, p.Y, 1})
	}, nil
}

func total(parts iter.Seq[sum]) (all sum) {
	for p := range parts {
		all = sum{all.X + p.X, all.Y + p.Y, all.Points + p.Points}
	}
	return all
}

// again is whether the centres have moved since the round before.
func again() func(*millrace.Rounded) (map[string]string, bool, error) {
	before := ""
	return func(done *millrace.Rounded) (map[string]string, bool, error) {
		centres, err := done.Output()
		moved := centres != before
		before = centres
		return map[string]string{"centres": centres}, moved, err
	}
}
