// Command skeleton should count pairs of neighbouring words.
package main

import (
	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

func main() {
	millrace.Main(mapreduce.Job{
		Name: "pairs",
		Map: mapreduce.Lines(func(line []byte, emit func(pair []byte, n int64)) {
			// Here: emit each pair of neighbouring words, "first second", with 1.
		}),
		Fold: mapreduce.Sum,
	})
}
