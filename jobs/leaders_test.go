package jobs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/mapreduce"
)

// TestTopKSortsLeadersOnly: of lines that are all different, each reduce hands on k, and not all of them.
func TestTopKSortsLeadersOnly(t *testing.T) {
	const lines, k, reducers = 20_000, 7, 3
	b := newBed(t)
	var text bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&text, "line %d\n", i*7919%lines)
	}
	text.WriteString("line 1\nline 7\nline 7\n")
	in := b.write("in", text.Bytes())
	got, res := b.run(setup{memory: 64 << 20, workers: 2, reducers: reducers}, "topk", "--by", "line", "--k", fmt.Sprint(k), "--input", in)
	const want = "3\tline 7\n2\tline 1\n1\tline 0\n1\tline 10\n1\tline 100\n1\tline 1000\n1\tline 10000\n"
	if got != want {
		t.Errorf("the first are %q, want %q", got, want)
	}
	if read := res.Stages[1].Counts.Get(mapreduce.TaskGroup, mapreduce.MapInputRecords); read > k*reducers {
		t.Errorf("the second stage reads %d records, want at most %d of each of %d reduces", read, k, reducers)
	}
}

// TestTopKOfMoreThanMemoryHolds: so many and so long that a reduce hands leaders on before it has seen all strings.
func TestTopKOfMoreThanMemoryHolds(t *testing.T) {
	const lines, k = 3000, 2500
	b := newBed(t)
	var text bytes.Buffer
	for i := range lines {
		line := fmt.Sprintf("%06d%s\n", i*7919%lines, strings.Repeat("x", 200))
		text.WriteString(strings.Repeat(line, 1+i%3))
	}
	in := b.write("in", text.Bytes())
	want := b.shell("sort in | uniq -c | sed 's/^ *\\([0-9]*\\) /\\1\\t/' | sort -t '\t' -k1,1nr -k2 | head -n %d", k)
	s := setup{memory: 1 << 20, workers: 2, reducers: 2}
	got, _ := b.run(s, "topk", "--by", "line", "--k", fmt.Sprint(k), "--max-record-bytes", "100000", "--input", in)
	same(t, s, want, got)
}
