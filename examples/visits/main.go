// Command visits reads the log of a web site, lines of SECOND USER PAGE MILLISECONDS, and tells for each page how often it was
// visited and how long it took in the mean.
//
//	go run ./cmd/millrace gen visits --size 10MB visits.log
//	go run ./examples/visits -input visits.log -output pages
package main

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

// sum is what is known of a page: a mean cannot be combined, its parts can.
type sum struct{ Visits, Millis int64 }

func main() {
	millrace.Main(mapreduce.Job{
		Name: "visits",
		Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func(string, sum)), error) {
			odd := t.Counter("visits", "lines that are no visit")
			return func(line []byte, emit func(page string, s sum)) {
				f := strings.Fields(string(line))
				if len(f) != 4 {
					odd.Add(1)
					return
				}
				ms, err := strconv.ParseInt(f[3], 10, 64)
				if err != nil {
					odd.Add(1)
					return
				}
				emit(f[2], sum{1, ms})
			}, nil
		}),
		Combine: mapreduce.Groups(func(page string, parts iter.Seq[sum], emit func(string, sum)) {
			emit(page, total(parts))
		}),
		Reduce: mapreduce.Groups(func(page string, parts iter.Seq[sum], emit func(string, string)) {
			all := total(parts)
			emit(page, fmt.Sprintf("%d visits, %d ms", all.Visits, all.Millis/all.Visits))
		}),
	})
}

func total(parts iter.Seq[sum]) (all sum) {
	for p := range parts {
		all.Visits += p.Visits
		all.Millis += p.Millis
	}
	return all
}
