// Command join puts what is known of a page beside each visit of it. It has two inputs with a name each.
//
//	go run ./cmd/millrace gen visits --size 1MB --pages 20 visits.log
//	printf '/page/0\thome\n/page/1\tnews\n' > pages.tsv
//	go run ./examples/join -input visits=visits.log -input pages=pages.tsv -output joined
package main

import (
	"iter"
	"strings"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

// key sorts what is known of a page before its visits, so that a reduce holds only that.
type key struct {
	Page  string
	Visit bool
}

func main() {
	millrace.Main(mapreduce.Job{
		Name: "join",
		Inputs: []mapreduce.Input{
			{Name: "visits", Map: mapreduce.Lines(func(line []byte, emit func(key, string)) {
				if f := strings.Fields(string(line)); len(f) == 4 { // SECOND USER PAGE MILLISECONDS
					emit(key{f[2], true}, f[1])
				}
			})},
			{Name: "pages", Map: mapreduce.KeyValues(func(page, about []byte, emit func(key, string)) {
				emit(key{string(page), false}, string(about))
			})},
		},
		// All of a page goes to one reduce, and is one group there.
		Partition: mapreduce.HashBy(func(k key) string { return k.Page }),
		Group:     mapreduce.By(func(a, b key) int { return strings.Compare(a.Page, b.Page) }),
		Reduce: mapreduce.Pairs(func(rows iter.Seq2[key, string], emit func(page, row string)) {
			var known []string // none: the page's visits are left out, as an inner join does
			for k, text := range rows {
				if !k.Visit {
					known = append(known, text)
					continue
				}
				for _, about := range known {
					emit(k.Page, text+"\t"+about)
				}
			}
		}),
	})
}
