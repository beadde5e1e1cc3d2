package mapreduce_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// countsOf runs a job and returns its counters.
func countsOf(job mapreduce.Job) mapreduce.Counts {
	job.Output = "out"
	res, err := local.Run(context.Background(), local.Config{}, job)
	if err != nil {
		fmt.Println("error:", err)
	}
	return res.Counts
}

// byInitial emits each word under its first letter.
var byInitial = mapreduce.Lines(func(line []byte, emit func(initial, word string)) {
	for word := range strings.FieldsSeq(string(line)) {
		emit(word[:1], word)
	}
})

func ExampleGroups() {
	defer inTemp()()
	run("apple bean avocado\nbeet\n", mapreduce.Job{
		Name: "initials",
		Map:  byInitial,
		Reduce: mapreduce.Groups(func(initial string, words iter.Seq[string], emit func(string, int)) {
			n := 0
			for range words {
				n++
			}
			emit(initial, n)
		}),
	})
	// Output:
	// a	2
	// b	2
}

// longest is a reducer on bytes.
type longest struct{ best []byte }

func (l *longest) Reduce(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
	l.best = l.best[:0]
	for values.Next() {
		if len(values.Value()) > len(l.best) {
			l.best = append(l.best[:0], values.Value()...) // a copy: the slice is valid until Next
		}
	}
	out.Emit(key, l.best)
	return nil
}

// The literal form of a reduce has a reducer for each attempt.
func ExampleReduce() {
	defer inTemp()()
	run("apple bean avocado\nbeet beetroot\n", mapreduce.Job{
		Name: "longest", Map: byInitial,
		Reduce: mapreduce.Reduce{New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return &longest{}, nil }},
	})
	// Output:
	// a	avocado
	// b	beetroot
}

// reducing makes a reduce of a function on bytes.
func reducing(f mapreduce.ReducerFunc) mapreduce.Reduce {
	return mapreduce.Reduce{New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return f, nil }}
}

// A reducer may leave values unread: here it takes the first of each group.
func ExampleReducer() {
	defer inTemp()()
	run("apple avocado bean beet\n", mapreduce.Job{
		Name: "first", Map: byInitial,
		Reduce: reducing(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
			values.Next()
			out.Emit(key, values.Value())
			return nil
		}),
	})
	// Output:
	// a	apple
	// b	bean
}

func ExampleReducerFunc() {
	defer inTemp()()
	run("b a b\n", mapreduce.Job{
		Name: "distinct", Map: mapreduce.Lines(words),
		Reduce: reducing(func(key []byte, _ mapreduce.Values, out mapreduce.Emitter) error {
			out.Emit(key, nil)
			return nil
		}),
		Format: mapreduce.RawOutput,
	})
	// Output: ab
}

// Values is a stream: Next comes before each value, also before the first.
func ExampleValues() {
	defer inTemp()()
	run("bean apple beet\n", mapreduce.Job{
		Name: "lists", Map: byInitial,
		Reduce: reducing(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
			var list []byte
			for values.Next() {
				list = append(append(list, values.Value()...), ';')
			}
			out.Emit(key, list)
			return nil
		}),
	})
	// Output:
	// a	apple;
	// b	bean;beet;
}

// numbers reads lines of a name and a number.
var numbers = mapreduce.Lines(func(line []byte, emit func(name string, n int64)) {
	var name string
	var n int64
	if _, err := fmt.Sscan(string(line), &name, &n); err != nil {
		panic(err)
	}
	emit(name, n)
})

const scores = "ann 3\nbob 9\nann 12\nann 5\n"

// A fold makes one value of two, from the first pair on; the job needs no reduce.
func ExampleFold() {
	defer inTemp()()
	for _, fold := range []mapreduce.Fold{mapreduce.Sum, mapreduce.Min, mapreduce.Max, mapreduce.Count} {
		leave := inTemp()
		fmt.Println(fold)
		run(scores, mapreduce.Job{Name: fold.String(), Map: numbers, Fold: fold})
		leave()
	}
	// Output:
	// sum
	// ann	20
	// bob	9
	// min
	// ann	3
	// bob	9
	// max
	// ann	12
	// bob	9
	// count
	// ann	3
	// bob	1
}

func ExampleTopK() {
	defer inTemp()()
	run(scores, mapreduce.Job{Name: "best", Map: numbers, Fold: mapreduce.TopK(2)})
	// Output:
	// ann	12 5
	// bob	9
}

// A fold of the program's own: associative and commutative.
func ExampleFoldOf() {
	defer inTemp()()
	longer := mapreduce.FoldOf("longer", func(a, b string) string {
		if len(b) > len(a) || len(b) == len(a) && b < a {
			return b
		}
		return a
	})
	run("bean apple beetroot avocado\n", mapreduce.Job{Name: "longest", Map: byInitial, Fold: longer})
	// Output:
	// a	avocado
	// b	beetroot
}

// Engines ask a fold how it works on a type.
func ExampleFoldPlan() {
	p, err := mapreduce.Sum.Plan(mapreduce.Int64)
	fmt.Println(p.Int == mapreduce.SumInt, p.Value.TypeName(), err)
	_, err = mapreduce.Sum.Plan(mapreduce.String)
	fmt.Println(err)
	// Output:
	// true int64 <nil>
	// fold sum: values are string, must be numbers other than uint and uint64
}

// Folds of integers need no user code; folds of other values merge their bytes.
func ExampleIntOp() {
	ints, _ := mapreduce.Max.Plan(mapreduce.Int64)
	floats, _ := mapreduce.Max.Plan(mapreduce.Float64)
	fmt.Println(ints.Int == mapreduce.MaxInt, floats.Int == mapreduce.NoIntOp)
	// Output: true true
}

// A partitioner of the program's own: short words to one part, long ones to another.
func ExamplePartitioner() {
	defer inTemp()()
	var byLength mapreduce.Partitioner = mapreduce.PartitionFunc(func(key, _ []byte, _ int) int {
		if len(key) > 3 {
			return 1
		}
		return 0
	})
	run("zebra ant yak bee\n", mapreduce.Job{
		Name: "lengths", Map: mapreduce.Lines(words), Fold: mapreduce.Sum, Partition: byLength, Reducers: 2,
	})
	// Output:
	// ant	1
	// bee	1
	// yak	1
	// zebra	1
}

// An answer out of range fails the job.
func ExamplePartitionFunc() {
	defer inTemp()()
	wrong := mapreduce.PartitionFunc(func(_, _ []byte, n int) int { return n })
	fmt.Println(mapreduce.CheckPartition(wrong.Partition(nil, nil, 4), 4))
	// Output: partitioner returned 4, must be in 0..3
}

func ExampleHashPartition() {
	p := mapreduce.HashPartition{}
	same := p.Partition([]byte("key"), nil, 100) == p.Partition([]byte("key"), []byte("any value"), 100)
	fmt.Println(same)
	// Output: true
}

// With a total order the parts, one after the other, are sorted as a whole.
func ExampleTotalOrder() {
	defer inTemp()()
	run("d\nb\nc\na\n", mapreduce.Job{
		Name: "sort", Reducers: 3, Partition: mapreduce.TotalOrder{},
		Map: mapreduce.Lines(func(line []byte, emit func([]byte, mapreduce.None)) { emit(line, mapreduce.None{}) }),
	})
	// Output:
	// a
	// b
	// c
	// d
}

// Known bounds need no sampling.
func ExampleRangePartition() {
	p := mapreduce.RangePartition{Bounds: [][]byte{[]byte("h"), []byte("p")}}
	for _, word := range []string{"apple", "h", "orange", "pear"} {
		fmt.Print(p.Partition([]byte(word), nil, 3), " ")
	}
	// Output: 0 1 1 2
}

func ExampleBoundsOf() {
	var samples [][]byte
	for s := range strings.FieldsSeq("d a c b f e") {
		samples = append(samples, []byte(s))
	}
	fmt.Printf("%s\n", mapreduce.BoundsOf(samples, 3, nil))
	// Output: [c e]
}

func ExampleCheckPartition() {
	fmt.Println(mapreduce.CheckPartition(-1, 4))
	fmt.Println(mapreduce.CheckPartition(3, 4))
	// Output:
	// partitioner returned -1, must be in 0..3
	// <nil>
}

// The nil order is that of bytes.
func ExampleCompare() {
	var natural mapreduce.Compare
	fmt.Println(natural.Of([]byte("a"), []byte("b")), mapreduce.Descending.Of([]byte("a"), []byte("b")))
	// Output: -1 1
}

// By orders keys as Go values: here by length, then by text.
func ExampleBy() {
	defer inTemp()()
	run("ccc a bb aa\n", mapreduce.Job{
		Name: "by length", Map: mapreduce.Lines(words), Fold: mapreduce.Sum,
		Sort: mapreduce.By(func(a, b string) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		}),
		Partition: mapreduce.HashPartition{}, // only equal words are equal
	})
	// Output:
	// a	1
	// aa	1
	// bb	1
	// ccc	1
}

// ByKey orders words whatever their case is, and what differs in nothing else is one key, in one reduce.
func ExampleByKey() {
	defer inTemp()()
	run("b A a B a\n", mapreduce.Job{
		Name: "any case", Map: mapreduce.Lines(words), Fold: mapreduce.Sum,
		Sort: mapreduce.ByKey(strings.ToLower), Reducers: 4,
	})
	// Output:
	// A	3
	// B	2
}

// An order is nil, a function, or one that says what equal keys have in common.
func ExampleOrder() {
	orders := []mapreduce.Order{mapreduce.Descending, mapreduce.ByKey(strings.ToLower), mapreduce.Compare(bytes.Compare)}
	for _, o := range orders {
		_, hashes := o.(interface{ Hash(key []byte) uint64 })
		fmt.Println(o.Of([]byte("a"), []byte("A")), hashes)
	}
	// Output:
	// -1 true
	// 0 true
	// 1 false
}

// Engines use orders as functions.
func ExampleCompareOf() {
	fmt.Println(mapreduce.CompareOf(nil) == nil, mapreduce.CompareOf(mapreduce.Descending)([]byte("a"), []byte("b")))
	// Output: true 1
}

func ExampleDescending() {
	defer inTemp()()
	run("a c b\n", mapreduce.Job{Name: "down", Map: mapreduce.Lines(words), Fold: mapreduce.Sum, Sort: mapreduce.Descending})
	// Output:
	// c	1
	// b	1
	// a	1
}

// EncodeInt keeps the order of integers in bytes.
func ExampleEncodeInt() {
	fmt.Println(mapreduce.EncodeInt(-1) < mapreduce.EncodeInt(0), mapreduce.DecodeInt(mapreduce.EncodeInt(-7)))
	// Output: true -7
}

func ExampleDecodeInt() {
	fmt.Println(mapreduce.DecodeInt(mapreduce.EncodeInt(42)))
	// Output: 42
}
