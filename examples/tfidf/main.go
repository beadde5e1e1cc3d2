// Command tfidf weighs the words of documents: a word counts the more the more often a document has it (tf), and the less
// the more documents have it (idf). Two jobs in a chain. Each file is a document.
//
//	go run ./examples/tfidf -documents 8 -input 'docs/course/[1-8]-*.md' -output weights
package main

import (
	"bytes"
	"flag"
	"fmt"
	"iter"
	"math"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

var documents = flag.Float64("documents", 0, "how many documents there are")

// at is a word in a document, found is a document with how often it has the word.
type (
	at    struct{ Word, Document string }
	found struct {
		Document string
		Times    int64
	}
)

func main() {
	count := mapreduce.Job{
		Name: "tf",
		Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func(at, int64)), error) {
			if *documents < 1 {
				return nil, fmt.Errorf("-documents is %g: say how many documents there are", *documents)
			}
			return func(line []byte, emit func(at, int64)) {
				document := t.Input()
				for word := range bytes.FieldsSeq(line) {
					emit(at{string(word), document}, 1)
				}
			}, nil
		}),
		Fold: mapreduce.Sum,
	}
	weigh := mapreduce.Job{
		Name: "tf-idf",
		Map: mapreduce.Records(func(a at, times int64, emit func(word string, f found)) {
			emit(a.Word, found{a.Document, times})
		}),
		Reduce: mapreduce.Groups(func(word string, in iter.Seq[found], emit func(string, float64)) {
			var all []found // one of each document that has the word
			for f := range in {
				all = append(all, f)
			}
			idf := math.Log(*documents / float64(len(all)))
			for _, f := range all {
				emit(word+" "+f.Document, float64(f.Times)*idf)
			}
		}),
	}
	millrace.Main(count, weigh)
}
