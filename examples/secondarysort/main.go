// Command secondarysort tells the way of each user through a web site: pages in the order of time, each with its second, from a
// log with lines of SECOND USER PAGE MILLISECONDS. The time is a part of the key, so the engine sorts it, and no reduce has to hold a user's visits.
//
//	go run ./cmd/millrace gen visits --size 10MB visits.log
//	go run ./examples/secondarysort -input visits.log -output ways
package main

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

// visit sorts by user, then by time: structs sort by their fields in turn.
type visit struct {
	User   string
	Second int64
}

func main() {
	millrace.Main(mapreduce.Job{
		Name: "ways of users",
		Map: mapreduce.LinesWith(func(*mapreduce.Task) (func([]byte, func(visit, string)), error) {
			return func(line []byte, emit func(visit, string)) {
				f := strings.Fields(string(line))
				if len(f) != 4 {
					panic(fmt.Sprintf("%q is no visit", line)) // fails the attempt, with the place of the line
				}
				second, err := strconv.ParseInt(f[0], 10, 64)
				if err != nil {
					panic(err)
				}
				emit(visit{f[1], second}, f[2])
			}, nil
		}),
		// All visits of a user go to one reduce, and are one group there.
		Group: mapreduce.ByKey(func(v visit) string { return v.User }),
		Reduce: mapreduce.Pairs(func(visits iter.Seq2[visit, string], emit func(user, way string)) {
			var user string
			var way strings.Builder
			for v, page := range visits { // each with its own second, which is in the key only
				if way.Len() > 0 {
					way.WriteString(" > ")
				}
				fmt.Fprintf(&way, "%d %s", v.Second, page)
				user = v.User
			}
			emit(user, way.String())
		}),
	})
}
