// Command ngrams counts sequences of words, which may not cross lines.
//
//	go run ./examples/ngrams -n 3 -input README.md -output trigrams
package main

import (
	"bytes"
	"flag"
	"fmt"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

var n = flag.Int("n", 2, "words in a sequence")

func main() {
	millrace.Main(mapreduce.Job{
		Name: "n-grams",
		// The flag has its value when an attempt starts, so it is read there.
		Map: mapreduce.LinesWith(func(*mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
			if *n < 1 {
				return nil, fmt.Errorf("-n is %d, must be at least 1", *n)
			}
			return func(line []byte, emit func(gram []byte, n int64)) {
				words := bytes.Fields(line)
				for i := 0; i+*n <= len(words); i++ {
					emit(bytes.Join(words[i:i+*n], []byte(" ")), 1)
				}
			}, nil
		}),
		Fold: mapreduce.Sum,
	})
}
