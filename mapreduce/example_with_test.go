package mapreduce_test

import (
	"iter"
	"strings"

	"github.com/millrace/millrace/mapreduce"
)

// A reduce with set-up may count, and stop the attempt before its first group.
func ExampleGroupsWith() {
	defer inTemp()()
	run("apple bean avocado\nbeet cherry\n", mapreduce.Job{
		Name: "alone", Map: byInitial,
		Reduce: mapreduce.GroupsWith(func(t *mapreduce.Task) (func(string, iter.Seq[string], func(string, string)), error) {
			alone := t.Counter("initials", "alone")
			return func(initial string, words iter.Seq[string], emit func(string, string)) {
				var all []string
				for w := range words {
					all = append(all, w)
				}
				if len(all) > 1 {
					return
				}
				alone.Add(1)
				emit(initial, all[0])
			}, nil
		}),
	})
	// Output:
	// c	cherry
}

// Keys that are equal in one part go to one reduce, and are one group there, sorted by the rest: secondary sort.
func ExampleHashBy() {
	defer inTemp()()
	type key struct{ Initial, Word string }
	run("bean apple\nbeet avocado\n", mapreduce.Job{
		Name: "lists",
		Map: mapreduce.Lines(func(line []byte, emit func(key, string)) {
			for word := range strings.FieldsSeq(string(line)) {
				emit(key{word[:1], word}, word)
			}
		}),
		Partition: mapreduce.HashBy(func(k key) string { return k.Initial }),
		Group:     mapreduce.ByKey(func(k key) string { return k.Initial }),
		Reduce: mapreduce.Groups(func(k key, words iter.Seq[string], emit func(string, string)) {
			var all []string
			for w := range words {
				all = append(all, w)
			}
			emit(k.Initial, strings.Join(all, " "))
		}),
	})
	// Output:
	// a	apple avocado
	// b	bean beet
}
