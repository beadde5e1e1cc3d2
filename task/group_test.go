package task

import (
	"bytes"
	"fmt"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slice is a run in memory.
type slice struct {
	keys []string
	at   int
}

var _ shuffle.Run = (*slice)(nil)

func (s *slice) Next() bool    { s.at++; return s.at <= len(s.keys) }
func (s *slice) Key() []byte   { return []byte(s.keys[s.at-1]) }
func (s *slice) Value() []byte { return fmt.Append(nil, s.at-1) }
func (s *slice) Err() error    { return nil }
func (s *slice) Close() error  { return nil }

// TestGroups: each pair is in the group of its key, also when a reducer leaves values
// unread, and Next goes on saying no at the end of a group.
func TestGroups(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 30).Draw(rt, "steps")
		keys := make([]string, len(letters))
		at := 0
		for i, step := range letters { // sorted by construction
			at += step / 3
			keys[i] = fmt.Sprintf("%02d", at)
		}
		job := &mapreduce.Job{}
		if rapid.Bool().Draw(rt, "own order") {
			job.Group = mapreduce.Compare(bytes.Compare)
		}
		g := newGrouped(&slice{keys: keys}, job, 1)
		i := 0
		for g.nextGroup() {
			if string(g.first) != keys[i] {
				rt.Fatalf("group %q, want %q", g.first, keys[i])
			}
			limit := rapid.IntRange(0, 4).Draw(rt, "values taken")
			for ; limit > 0 && g.Next(); limit-- {
				if string(g.Key()) != keys[i] || string(g.Value()) != fmt.Sprint(i) {
					rt.Fatalf("pair %q %q, want number %d", g.Key(), g.Value(), i)
				}
				i++
			}
			if limit > 0 && g.Next() {
				rt.Fatal("Next gives a value after the end of its group")
			}
			for i < len(keys) && keys[i] == string(g.first) {
				i++ // what was left unread
			}
		}
		if i != len(keys) {
			rt.Fatalf("saw %d of %d pairs", i, len(keys))
		}
	})
}

func TestPlaces(t *testing.T) {
	for want, p := range map[string]place{
		"set-up":                    {},
		"x at offset 7":             {file: "x", offset: 7},
		`group "k"`:                 {group: []byte("k")},
		`group ""`:                  {group: []byte{}},
		"the merge of map output":   {stage: "the merge of map output"},
		`group "` + long[:80] + `"`: {group: []byte(long)},
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v prints %q, want %q", p, got, want)
		}
	}
}

var long = string(bytes.Repeat([]byte("x"), 1000))
