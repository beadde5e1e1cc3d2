// Command terasort sorts records of 100 bytes by their first 10, as the Sort
// Benchmark wants it. The parts of the output, one after the other, are sorted as
// a whole: the partitions are ranges of keys, found by sampling the input.
//
//	go run ./cmd/millrace gen tera --size 1GB rows.dat
//	go run ./examples/terasort -input rows.dat -output sorted
package main

import (
	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

func main() {
	millrace.Main(mapreduce.Job{
		Name: "terasort",
		Map: mapreduce.Fixed(100, func(record []byte, emit func(key, rest []byte)) {
			emit(record[:10], record[10:])
		}),
		Partition: mapreduce.TotalOrder{},
		Format:    mapreduce.RawOutput,
	})
}
