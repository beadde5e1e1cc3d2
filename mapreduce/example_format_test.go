package mapreduce_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// Keys and values of the usual types have codecs; keys sort as their values do.
func ExampleCodec() {
	var c mapreduce.Codec[int64] = mapreduce.Int64
	minus, plus := c.Append(nil, -5), c.Append(nil, 3)
	v, err := c.Decode(minus)
	fmt.Println(v, err, bytes.Compare(minus, plus), string(c.AppendText(nil, plus)))
	// Output: -5 <nil> -1 3
}

// Point is a type of the program's own that marshals itself, so that it sorts by X.
type Point struct{ X, Y uint32 }

// MarshalBinary makes eight bytes.
func (p Point) MarshalBinary() ([]byte, error) {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, p.X), p.Y), nil
}

// UnmarshalBinary is the inverse.
func (p *Point) UnmarshalBinary(b []byte) error {
	if len(b) != 8 {
		return errors.New("a point has eight bytes")
	}
	p.X, p.Y = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	return nil
}

func ExampleCodecFor() {
	defer inTemp()()
	fmt.Println(mapreduce.CodecFor[Point]().TypeName(), mapreduce.CodecFor[float64]().TypeName())
	run("9 1\n2 7\n", mapreduce.Job{
		Name: "points",
		Map: mapreduce.Lines(func(line []byte, emit func(Point, bool)) {
			var p Point
			if _, err := fmt.Sscan(string(line), &p.X, &p.Y); err != nil {
				panic(err)
			}
			emit(p, p.X > p.Y)
		}),
	})
	// Output:
	// mapreduce_test.Point float64
	// {2 7}	false
	// {9 1}	true
}

// Other types travel as JSON.
func ExampleJSON() {
	defer inTemp()()
	type visit struct {
		Page string
		Ms   int
	}
	run("/home 12\n", mapreduce.Job{
		Name: "visits",
		Map: mapreduce.Lines(func(line []byte, emit func(string, visit)) {
			var v visit
			if _, err := fmt.Sscan(string(line), &v.Page, &v.Ms); err != nil {
				panic(err)
			}
			emit("visit", v)
		}),
	})
	// Output: visit	{"Page":"/home","Ms":12}
}

// None is no value: the output has no tab.
func ExampleNone() {
	defer inTemp()()
	run("b\na\n", mapreduce.Job{
		Name: "sort",
		Map:  mapreduce.Lines(func(line []byte, emit func(string, mapreduce.None)) { emit(string(line), mapreduce.None{}) }),
	})
	// Output:
	// a
	// b
}

// A type prints encoded bytes where the Go type is not known any more.
func ExampleType() {
	var t mapreduce.Type = mapreduce.Float64
	fmt.Println(t.TypeName(), string(t.AppendText(nil, mapreduce.Float64.Append(nil, 2.5))), string(t.AppendText(nil, []byte("?"))))
	// Output: float64 2.5 "?"
}

// paragraphs reads texts divided by empty lines. It cannot be split: a range in
// the middle of a file could not know whether it starts inside a paragraph.
type paragraphs struct{}

var _ mapreduce.InputFormat = paragraphs{}

func (paragraphs) Name() string           { return "paragraphs" }
func (paragraphs) Splittable([]byte) bool { return false }

func (paragraphs) Open(src mapreduce.Source) (mapreduce.RecordReader, error) {
	return &paragraphReader{in: bufio.NewScanner(io.NewSectionReader(src.R, 0, src.Size))}, nil
}

type paragraphReader struct {
	in  *bufio.Scanner
	rec mapreduce.Record
}

var _ mapreduce.RecordReader = (*paragraphReader)(nil)

func (p *paragraphReader) Next() bool {
	var lines []string
	for p.in.Scan() && p.in.Text() != "" {
		lines = append(lines, p.in.Text())
	}
	p.rec.Value = []byte(strings.Join(lines, " "))
	return len(lines) > 0
}

func (p *paragraphReader) Record() mapreduce.Record { return p.rec }
func (p *paragraphReader) Err() error               { return p.in.Err() }
func (*paragraphReader) Close() error               { return nil }

// An input format of the program's own.
func ExampleInputFormat() {
	defer inTemp()()
	m := mapreduce.Lines(func(text []byte, emit func([]byte, int)) { emit(text, len(text)) })
	m.Format = paragraphs{}
	run("one\ntwo\n\nthree\n", mapreduce.Job{Name: "paragraphs", Map: m})
	// Output:
	// one two	7
	// three	5
}

// A record reader is driven by Next until it says no; Err then tells why.
func ExampleRecordReader() {
	text := "a\nb"
	r, err := mapreduce.Text.Open(mapreduce.Source{
		Name: "memory", R: strings.NewReader(text), Size: int64(len(text)), Length: int64(len(text)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for r.Next() {
		fmt.Printf("%d %s\n", r.Record().Offset, r.Record().Value)
	}
	fmt.Println(r.Err(), r.Close())
	// Output:
	// 0 a
	// 2 b
	// <nil> <nil>
}

// Where a reader can, it hands out many whole records at once.
func ExampleChunkReader() {
	text := "a\nb\nc\n"
	r, err := mapreduce.Text.Open(mapreduce.Source{
		Name: "memory", R: strings.NewReader(text), Size: int64(len(text)), Length: int64(len(text)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if cr, ok := r.(mapreduce.ChunkReader); ok {
		chunk, offset, _ := cr.NextChunk()
		fmt.Printf("%q at %d: %d records\n", chunk, offset, cr.RecordsIn(chunk))
	}
	// Output: "a\nb\nc\n" at 0: 3 records
}

// Small, fixed and other formats say by the head of a file whether it can be split.
func ExampleFixedSize() {
	f := mapreduce.FixedSize(100)
	fmt.Println(f.Name(), f.Splittable(nil), mapreduce.Text.Splittable([]byte{0x1f, 0x8b, 8}))
	// Output: fixed-100 true false
}

// csvOutput writes comma-separated values.
type csvOutput struct{}

var _ mapreduce.OutputFormat = csvOutput{}

func (csvOutput) Name() string { return "csv" }

func (csvOutput) Open(w io.Writer, key, value mapreduce.Type) (mapreduce.RecordWriter, error) {
	return &csvWriter{csv.NewWriter(w), key, value}, nil
}

type csvWriter struct {
	w          *csv.Writer
	key, value mapreduce.Type
}

var _ mapreduce.RecordWriter = (*csvWriter)(nil)

func (c *csvWriter) Write(key, value []byte) error {
	return c.w.Write([]string{string(c.key.AppendText(nil, key)), string(c.value.AppendText(nil, value))})
}

func (c *csvWriter) Close() error {
	c.w.Flush()
	return c.w.Error()
}

// An output format of the program's own.
func ExampleOutputFormat() {
	defer inTemp()()
	run("a, b\n", mapreduce.Job{Name: "csv", Map: mapreduce.Lines(words), Fold: mapreduce.Sum, Format: csvOutput{}})
	// Output:
	// "a,",1
	// b,1
}

// A record writer takes encoded pairs; without Close its output is incomplete.
func ExampleRecordWriter() {
	w, err := mapreduce.TextOutput.Open(os.Stdout, mapreduce.String, mapreduce.Int64)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Write([]byte("n"), mapreduce.Int64.Append(nil, 5)))
	fmt.Println(w.Close())
	// Output:
	// <nil>
	// n	5
	// <nil>
}

// RecordOutput keeps types between programs: the second reads what the first wrote,
// without printing and parsing numbers.
func Example_recordFile() {
	defer inTemp()()
	write("in.txt", "a b a\n")
	count := mapreduce.Job{
		Name: "count", Input: []string{"in.txt"}, Output: "counts",
		Map: mapreduce.Lines(words), Fold: mapreduce.Sum, Format: mapreduce.RecordOutput,
	}
	if _, err := local.Run(context.Background(), local.Config{}, count); err != nil {
		fmt.Println(err)
		return
	}
	run("", mapreduce.Job{
		Name: "double", Input: []string{"counts"},
		Map: mapreduce.Records(func(word string, n int64, emit func(string, int64)) { emit(word, 2*n) }),
	})
	// Output:
	// a	4
	// b	2
}
