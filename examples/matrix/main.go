// Command matrix multiplies two matrices, given as lines of A|B ROW COLUMN VALUE in any order. The first job brings column k of A
// and row k of B together and multiplies, the second adds.
//
//	go run ./cmd/millrace gen matrix --size 100kB --side 50 ab.txt
//	go run ./examples/matrix -input ab.txt -output product
package main

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

// entry is one of column k of A, or of row k of B; Other is its row in A, its column in B.
type entry struct {
	OfA   bool
	Other int64
	Value int64
}

type cell struct{ Row, Column int64 }

func main() {
	millrace.Main(multiply, add, text)
}

var multiply = mapreduce.Job{
	Name: "multiply",
	Map: mapreduce.Lines(func(line []byte, emit func(k int64, e entry)) {
		var name string
		var row, column, value int64
		if _, err := fmt.Fscan(bytes.NewReader(line), &name, &row, &column, &value); err != nil {
			panic(err) // fails the attempt, with the place of the line
		}
		if name == "A" {
			emit(column, entry{true, row, value})
		} else {
			emit(row, entry{false, column, value})
		}
	}),
	Reduce: mapreduce.Groups(func(_ int64, entries iter.Seq[entry], emit func(cell, int64)) {
		var a, b []entry
		for e := range entries {
			if e.OfA {
				a = append(a, e)
			} else {
				b = append(b, e)
			}
		}
		for _, x := range a {
			for _, y := range b {
				emit(cell{x.Other, y.Other}, x.Value*y.Value)
			}
		}
	}),
}

var add = mapreduce.Job{
	Name: "add",
	Map:  mapreduce.Records(func(c cell, product int64, emit func(cell, int64)) { emit(c, product) }),
	Fold: mapreduce.Sum,
}

var text = mapreduce.Job{
	Name: "text",
	Map: mapreduce.Records(func(c cell, sum int64, emit func(string, int64)) {
		emit(fmt.Sprintf("%d %d", c.Row, c.Column), sum)
	}),
	MapOnly: true,
}
