// Command grep counts the strings that match a regular expression, most frequent
// first: two jobs in a chain, the second of which sorts what the first counted.
//
//	go run ./examples/grep -pattern 'func [A-Z][a-z]*' -input . -output matches
package main

import (
	"cmp"
	"flag"
	"iter"
	"regexp"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

var pattern = flag.String("pattern", "", "regular expression to look for")

func main() {
	count := mapreduce.Job{
		Name: "grep",
		// The flag has its value when an attempt starts, so it is read there.
		Map: mapreduce.LinesWith(func(*mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
			re, err := regexp.Compile(*pattern)
			if err != nil {
				return nil, err
			}
			return func(line []byte, emit func(match []byte, n int64)) {
				for _, match := range re.FindAll(line, -1) {
					emit(match, 1)
				}
			}, nil
		}),
		Fold: mapreduce.Sum,
	}
	order := mapreduce.Job{
		Name: "most frequent first",
		Map: mapreduce.Records(func(match string, n int64, emit func(n int64, match string)) {
			emit(n, match)
		}),
		Sort: mapreduce.By(func(a, b int64) int { return cmp.Compare(b, a) }),
		Reduce: mapreduce.Groups(func(n int64, matches iter.Seq[string], emit func(n int64, match string)) {
			for match := range matches {
				emit(n, match)
			}
		}),
		Reducers: 1,
	}
	millrace.Main(count, order)
}
