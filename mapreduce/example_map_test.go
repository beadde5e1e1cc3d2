package mapreduce_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/millrace/millrace/mapreduce"
)

// The literal form of a map is the bytes core: nothing is allocated per record.
func ExampleMap() {
	defer inTemp()()
	run("b\na\nb\n", mapreduce.Job{
		Name: "lines",
		Map: mapreduce.Map{
			Key: mapreduce.Bytes, Value: mapreduce.Int64,
			New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
				return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
					out.EmitInt(r.Value, 1)
					return nil
				}), nil
			},
		},
		Fold: mapreduce.Sum,
	})
	// Output:
	// a	1
	// b	2
}

func ExampleLines() {
	defer inTemp()()
	run("one\nthree\n", mapreduce.Job{
		Name: "lengths",
		Map:  mapreduce.Lines(func(line []byte, emit func(string, int)) { emit(string(line), len(line)) }),
	})
	// Output:
	// one	3
	// three	5
}

// Set-up runs once for each attempt, and what it returns may keep state.
func ExampleLinesWith() {
	defer inTemp()()
	run("a\nb\nc\n", mapreduce.Job{
		Name:   "numbered",
		Params: map[string]string{"first": "100"},
		Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func(int, string)), error) {
			var n int
			_, err := fmt.Sscan(t.Param("first"), &n)
			return func(line []byte, emit func(int, string)) {
				emit(n, string(line))
				n++
			}, err
		}),
	})
	// Output:
	// 100	a
	// 101	b
	// 102	c
}

func ExampleKeyValues() {
	defer inTemp()()
	run("apples\t3\npears\t2\napples\t4\n", mapreduce.Job{
		Name: "stock",
		Map: mapreduce.KeyValues(func(key, value []byte, emit func(fruit string, n int)) {
			var n int
			if _, err := fmt.Sscan(string(value), &n); err != nil {
				panic(err)
			}
			emit(string(key), n)
		}),
		Fold: mapreduce.Sum,
	})
	// Output:
	// apples	7
	// pears	2
}

// Records of four bytes, sorted by the last two.
func ExampleFixed() {
	defer inTemp()()
	run("aa02bb01cc03", mapreduce.Job{
		Name:   "fixed",
		Map:    mapreduce.Fixed(4, func(r []byte, emit func(key, rest []byte)) { emit(r[2:], r[:2]) }),
		Format: mapreduce.RawOutput,
	})
	// Output: 01bb02aa03cc
}

func ExampleFiles() {
	defer inTemp()()
	write("a.txt", "one two")
	write("b.txt", "three")
	run("", mapreduce.Job{
		Name: "sizes", Input: []string{"*.txt"},
		Map: mapreduce.Files(func(name string, content []byte, emit func(string, int)) { emit(name, len(content)) }),
	})
	// Output:
	// a.txt	7
	// b.txt	5
}

// The second job reads the record file of the first, with the types it wrote.
func ExampleRecords() {
	defer inTemp()()
	squares := mapreduce.Job{
		Name: "squares", Input: []string{mapreduce.CountInput(4)},
		Map: mapreduce.Numbers(func(i uint64, emit func(uint64, float64)) { emit(i, float64(i*i)) }),
	}
	halves := mapreduce.Job{
		Name: "halves",
		Map:  mapreduce.Records(func(i uint64, sq float64, emit func(uint64, float64)) { emit(i, sq/2) }),
	}
	run("", squares, halves)
	// Output:
	// 0	0
	// 1	0.5
	// 2	2
	// 3	4.5
}

// Jobs that make their own data map the numbers 0..n-1.
func ExampleNumbers() {
	defer inTemp()()
	run("", mapreduce.Job{
		Name: "parity", Input: []string{mapreduce.CountInput(1000)},
		Map:  mapreduce.Numbers(func(i uint64, emit func(odd bool, n int64)) { emit(i%2 == 1, 1) }),
		Fold: mapreduce.Sum,
	})
	// Output:
	// false	500
	// true	500
}

func ExampleCountInput() {
	fmt.Println(mapreduce.CountInput(1000))
	// Output: count:/1000
}

// lineNumbers is a mapper with state: one goroutine drives it.
type lineNumbers struct{ n int64 }

func (m *lineNumbers) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	m.n++
	out.EmitInt(r.Value, m.n)
	return nil
}

func ExampleMapper() {
	defer inTemp()()
	run("b\na\n", mapreduce.Job{
		Name: "number",
		Map: mapreduce.Map{
			Value: mapreduce.Int64,
			New:   func(*mapreduce.Task) (mapreduce.Mapper, error) { return &lineNumbers{}, nil },
		},
	})
	// Output:
	// a	2
	// b	1
}

// stateless makes a map of a function on bytes that emits keys only.
func stateless(f mapreduce.MapperFunc) mapreduce.Map {
	return mapreduce.Map{
		Value: mapreduce.CodecFor[mapreduce.None](),
		New:   func(*mapreduce.Task) (mapreduce.Mapper, error) { return f, nil },
	}
}

func ExampleMapperFunc() {
	defer inTemp()()
	run("b\na\n", mapreduce.Job{
		Name: "upper",
		Map: stateless(func(r mapreduce.Record, out mapreduce.Emitter) error {
			out.Emit(bytes.ToUpper(r.Value), nil)
			return nil
		}),
	})
	// Output:
	// A
	// B
}

// A record has a place: the offset of its first byte in the file.
func ExampleRecord() {
	defer inTemp()()
	run("one\ntwo\nthree\n", mapreduce.Job{
		Name: "places",
		Map: mapreduce.Map{
			Key: mapreduce.Int64, Value: mapreduce.Bytes,
			New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
				return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
					out.Emit(mapreduce.Int64.Append(nil, r.Offset), r.Value)
					return nil
				}), nil
			},
		},
	})
	// Output:
	// 0	one
	// 4	two
	// 8	three
}

// An emitter copies what it is given: memory may be used again at once.
func ExampleEmitter() {
	defer inTemp()()
	run("xyz\n", mapreduce.Job{
		Name: "letters", MapOnly: true,
		Map: stateless(func(r mapreduce.Record, out mapreduce.Emitter) error {
			key := []byte{0}
			for _, c := range r.Value {
				key[0] = c
				out.Emit(key, nil)
			}
			return nil
		}),
	})
	// Output:
	// x
	// y
	// z
}

// newlines counts lines by the chunk, without looking for where each one ends.
type newlines struct{ n int64 }

var _ mapreduce.ChunkMapper = (*newlines)(nil)

func (m *newlines) Map(mapreduce.Record, mapreduce.Emitter) error { m.n++; return nil }

func (m *newlines) MapChunk(chunk []byte, _ int64, _ mapreduce.Emitter) error {
	m.n += int64(bytes.Count(chunk, []byte{'\n'}))
	return nil
}

func (m *newlines) Finish(out mapreduce.Emitter) error {
	out.EmitInt([]byte("lines"), m.n)
	return nil
}

func counting() mapreduce.Map {
	return mapreduce.Map{
		Key: mapreduce.String, Value: mapreduce.Int64,
		New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return &newlines{}, nil },
	}
}

func ExampleChunkMapper() {
	defer inTemp()()
	run(strings.Repeat("a line\n", 1000), mapreduce.Job{Name: "lines", Map: counting(), Fold: mapreduce.Sum})
	// Output: lines	1000
}

// Finish is the place to hand over what was gathered on the way. Here each of two
// attempts emits once, not once for each line.
func ExampleFinisher() {
	defer inTemp()()
	run("a\nb\nc\nd\n", mapreduce.Job{Name: "lines", Map: counting(), SplitBytes: 4, MapOnly: true})
	// Output:
	// lines	2
	// lines	2
}

// What an attempt may ask about itself.
func ExampleTask() {
	defer inTemp()()
	run("a\nb\n", mapreduce.Job{
		Name: "who", MapOnly: true, SplitBytes: 2, Params: map[string]string{"greeting": "hello"},
		Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func(string, mapreduce.None)), error) {
			return func(line []byte, emit func(string, mapreduce.None)) {
				t.SetStatus("busy")
				emit(fmt.Sprintf("%s, I am %s of %s and read %q", t.Param("greeting"), t, t.Input(), line), mapreduce.None{})
			}, nil
		}),
	})
	// Output:
	// hello, I am map 0 try 1 of in.txt and read "a"
	// hello, I am map 1 try 1 of in.txt and read "b"
}

func ExampleTaskInfo() {
	t := mapreduce.NewTask(context.Background(), mapreduce.TaskInfo{Kind: mapreduce.ReduceTask, Index: 3, Attempt: 1, SideDir: "/tmp/side"}, nil)
	fmt.Println(t)
	fmt.Println(t.SideFile("data/stop.txt"))
	// Output:
	// reduce 3 try 2
	// /tmp/side/stop.txt
}

func ExampleKind() {
	fmt.Println(mapreduce.MapTask, mapreduce.ReduceTask)
	// Output: map reduce
}

// A mapper may read what is larger than a record by itself, given a place.
func ExampleSource() {
	data := bytes.NewReader(binary.BigEndian.AppendUint32([]byte("head"), 7))
	r, err := mapreduce.FixedSize(4).Open(mapreduce.Source{Name: "data", R: data, Size: 8, Offset: 4, Length: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	for r.Next() {
		fmt.Println(r.Record().Offset, binary.BigEndian.Uint32(r.Record().Value))
	}
	// Output: 4 7
}

// Counters of attempts that succeed are added up. Here the job counts what it
// leaves out, and the program prints it.
func ExampleCounter() {
	defer inTemp()()
	write("in.txt", "1\n\n2\n\n")
	counts := countsOf(mapreduce.Job{
		Name: "count", Input: []string{"in.txt"},
		Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func([]byte, mapreduce.None)), error) {
			empty := t.Counter("my", "empty lines")
			return func(line []byte, emit func([]byte, mapreduce.None)) {
				if len(line) == 0 {
					empty.Add(1)
				}
			}, nil
		}),
	})
	fmt.Println(counts.Get("my", "empty lines"), "of", counts.Get(mapreduce.TaskGroup, mapreduce.MapInputRecords))
	// Output: 2 of 4
}

func ExampleCounts() {
	all := mapreduce.Counts{}
	all.Add(mapreduce.Counts{"a": {"x": 1}, "b": {"y": 2}})
	all.Add(mapreduce.Counts{"a": {"x": 3}})
	all.Each(func(group, name string, n int64) { fmt.Println(group, name, n) })
	// Output:
	// a x 4
	// b y 2
}

func ExampleCounterSet() {
	var set mapreduce.CounterSet
	set.Counter("g", "seen").Add(2)
	set.Counter("g", "seen").Add(3)
	set.Counter("g", "never touched")
	fmt.Println(set.Snapshot())
	// Output: map[g:map[seen:5]]
}
