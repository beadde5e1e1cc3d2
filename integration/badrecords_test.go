package integration

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// TestBadRecords is FAULTS row 8: a mapper panics on three records of many. They are skipped, counted and listed with
// their places, once each, also after a restart of the master; a fourth is too many.
func TestBadRecords(t *testing.T) {
	t.Parallel()
	records := 100_000
	if require.Stressed() {
		records = 1_000_000
	}
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Build: func(p *wire.Program) ([]mapreduce.Job, error) {
		return []mapreduce.Job{{
			Name: "bad", Input: []string{p.Args[0]}, Output: p.Args[1], SplitBytes: 128 << 10, SkipBadRecords: 3, Fold: mapreduce.Sum,
			Map: mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
				if bytes.HasPrefix(line, []byte("bad")) {
					panic("no number: " + string(line))
				}
				emit([]byte("good"), 1)
			}),
		}}, nil
	}})
	var in bytes.Buffer
	var want []wire.BadRecord
	for i := range records {
		if i == 10 || i == records/2 || i == records-1 {
			want = append(want, wire.BadRecord{File: "dfs:/in", Offset: int64(in.Len())})
			fmt.Fprintln(&in, "bad", i)
			continue
		}
		fmt.Fprintln(&in, i)
	}
	dfsPut(t, c, "/in", in.Bytes())
	id := c.Submit(wire.JobSpec{Bad: 3}, "bad", "dfs:/in", "dfs:/out")
	s := c.Finish(id)
	if s.State != "SUCCEEDED" || s.Maps.Total < 2 {
		t.Fatalf("%+v", s)
	}
	if got := lines(dfsOutput(t, c, "/out")); !slices.Equal(got, []string{fmt.Sprintf("good\t%d\n", records-3)}) {
		t.Errorf("the output is %q", got)
	}
	c.Master.Close()
	c.StartMaster()
	for when, s := range map[string]wire.JobStatus{"at the end": s, "after a restart": c.Finish(id)} {
		if n := s.Counts[mapreduce.TaskGroup][mapreduce.MapSkippedRecords]; n != 3 {
			t.Errorf("%s: %d records are counted as skipped", when, n)
		}
		got := slices.SortedFunc(slices.Values(s.Bad), func(a, b wire.BadRecord) int { return int(a.Offset - b.Offset) })
		for i := range got {
			if !strings.Contains(got[i].Reason, "no number: bad") {
				t.Errorf("%s: the reason is %q", when, got[i].Reason)
			}
			got[i].Reason = ""
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: skipped were %v, want %v", when, got, want)
		}
	}
	dfsPut(t, c, "/worse", append(in.Bytes(), "bad too\n"...))
	if s := c.Finish(c.Submit(wire.JobSpec{Bad: 3}, "bad", "dfs:/worse", "dfs:/worse-out")); s.State != "FAILED" || !strings.Contains(s.Error, "bad records") {
		t.Errorf("with four: %s, %s", s.State, s.Error)
	}
}
