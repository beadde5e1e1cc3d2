package mapreduce_test

import (
	"fmt"
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

// A group's keys may differ, and each pair has its own: here the gap between two times, which are in no value.
func ExamplePairs() {
	defer inTemp()()
	type visit struct {
		User string
		Time int64
	}
	run("ann 10\nbob 20\nann 15\n", mapreduce.Job{
		Name: "gaps",
		Map: mapreduce.Lines(func(line []byte, emit func(visit, mapreduce.None)) {
			var v visit
			fmt.Sscan(string(line), &v.User, &v.Time)
			emit(v, mapreduce.None{})
		}),
		Partition: mapreduce.HashBy(func(v visit) string { return v.User }),
		Group:     mapreduce.By(func(a, b visit) int { return strings.Compare(a.User, b.User) }),
		Reduce: mapreduce.Pairs(func(visits iter.Seq2[visit, mapreduce.None], emit func(user string, gap int64)) {
			var last visit
			for v := range visits {
				if last.User != "" {
					emit(v.User, v.Time-last.Time)
				}
				last = v
			}
		}),
	})
	// Output:
	// ann	5
}

// A reduce of pairs with set-up may count.
func ExamplePairsWith() {
	defer inTemp()()
	run("apple bean avocado\n", mapreduce.Job{
		Name: "numbered", Map: byInitial,
		Reduce: mapreduce.PairsWith(func(*mapreduce.Task) (func(iter.Seq2[string, string], func(int, string)), error) {
			n := 0
			return func(pairs iter.Seq2[string, string], emit func(int, string)) {
				for initial, word := range pairs {
					n++
					emit(n, initial+" "+word)
				}
			}, nil
		}),
	})
	// Output:
	// 1	a apple
	// 2	a avocado
	// 3	b bean
}

// Keys that are equal in one part go to one reduce, and are one group there, sorted by the rest: secondary sort.
func ExampleHashBy() {
	defer inTemp()()
	type key struct{ Initial, Word string }
	run("bean apple\nbeet avocado\n", mapreduce.Job{
		Name: "lists",
		Map: mapreduce.Lines(func(line []byte, emit func(key, mapreduce.None)) {
			for word := range strings.FieldsSeq(string(line)) {
				emit(key{word[:1], word}, mapreduce.None{})
			}
		}),
		Partition: mapreduce.HashBy(func(k key) string { return k.Initial }),
		Group:     mapreduce.ByKey(func(k key) string { return k.Initial }),
		Reduce: mapreduce.Pairs(func(pairs iter.Seq2[key, mapreduce.None], emit func(string, string)) {
			var initial string
			var all []string
			for k := range pairs {
				initial, all = k.Initial, append(all, k.Word)
			}
			emit(initial, strings.Join(all, " "))
		}),
	})
	// Output:
	// a	apple avocado
	// b	bean beet
}
