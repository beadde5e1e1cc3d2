// Command visits tells for each user how many pages they visited: two tables, each with a name and a map of its own.
//
//	go run ./examples/visits -input users=users.tsv -input visits=visits.tsv -output pages
package main

import (
	"iter"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

// row is a line of one of the tables.
type row struct {
	Name  string // of a user
	Pages int64
}

func main() {
	millrace.Main(mapreduce.Job{
		Name: "visits",
		Inputs: []mapreduce.Input{
			{Name: "users", Map: mapreduce.KeyValues(func(id, name []byte, emit func(id string, r row)) {
				emit(string(id), row{Name: string(name)})
			})},
			{Name: "visits", Map: mapreduce.KeyValues(func(id, _ []byte, emit func(id string, r row)) {
				emit(string(id), row{Pages: 1})
			})},
		},
		Reduce: mapreduce.Groups(func(_ string, rows iter.Seq[row], emit func(name string, pages int64)) {
			var user row
			for r := range rows {
				user.Name += r.Name
				user.Pages += r.Pages
			}
			if user.Name != "" {
				emit(user.Name, user.Pages)
			}
		}),
	})
}
