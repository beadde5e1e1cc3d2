package explain

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace/millrace/mapreduce"
)

// A Story is a recording in readable form: what the page shows.
type Story struct {
	Stages []StageStory `json:"stages"`
	Room   int          `json:"room"` // pairs that a map of the page holds before it spills
}

// StageStory is of one job.
type StageStory struct {
	Name    string        `json:"name"`
	Combine string        `json:"combine"` // "", "combine" or the name of a fold
	MapOnly bool          `json:"map_only"`
	Maps    []MapStory    `json:"maps"`
	Reduces []ReduceStory `json:"reduces"`
}

// MapStory is of one map.
type MapStory struct {
	Input   string        `json:"input"`
	Records []RecordStory `json:"records"`
	Spills  [][]Pair      `json:"spills"` // sorted by reduce and key, each combined
	Merged  []Pair        `json:"merged"` // what the reduces fetch
}

// RecordStory is a record and the pairs that it makes.
type RecordStory struct {
	Text  string `json:"text"`
	Pairs []Pair `json:"pairs"`
}

// Pair is a key and a value, and the reduce to which the key goes.
type Pair struct {
	Key    string `json:"k"`
	Value  string `json:"v"`
	Reduce int    `json:"r"`
}

// ReduceStory is of one reduce.
type ReduceStory struct {
	Groups []GroupStory `json:"groups"`
	Last   []Pair       `json:"last"`
}

// GroupStory is a group and what the reduce makes of it.
type GroupStory struct {
	Key string `json:"key"`
	In  []Pair `json:"in"`
	Out []Pair `json:"out"`
}

// Story returns what was recorded.
func (r *Recording) Story() Story {
	r.mu.Lock()
	defer r.mu.Unlock()
	story := Story{Room: roomFor}
	var before *stage
	for _, s := range r.stages {
		story.Stages = append(story.Stages, s.story(before))
		before = s
	}
	return story
}

// recordText returns a record as users read it. What the previous job emitted has that job's types.
func recordText(rec pair, before *stage) string {
	var key, value mapreduce.Type
	switch {
	case before == nil:
	case before.job.MapOnly:
		key, value = before.mapOf().Key, before.mapOf().Value
	default:
		key, value = before.reduceKey, before.reduce
	}
	if len(rec.key) == 0 {
		return textOf(value, rec.value)
	}
	return textOf(key, rec.key) + "\t" + textOf(value, rec.value)
}

func (s *stage) story(before *stage) StageStory {
	out := StageStory{Name: s.job.Name, MapOnly: s.job.MapOnly, Reduces: []ReduceStory{}, Maps: []MapStory{}}
	switch {
	case !s.job.Fold.IsZero():
		out.Combine = s.job.Fold.String()
	case !s.job.Combine.IsZero():
		out.Combine = "combine"
	}
	where := s.where()
	m := s.mapOf()
	for _, i := range slices.Sorted(maps.Keys(s.maps)) {
		out.Maps = append(out.Maps, s.mapStory(s.maps[i], before, where))
	}
	for _, i := range slices.Sorted(maps.Keys(s.red)) {
		out.Reduces = append(out.Reduces, s.reduceStory(i, s.red[i], m))
	}
	return out
}

// where returns the reduce of each key, as in the run.
func (s *stage) where() map[string]int {
	where := map[string]int{}
	for i, a := range s.red {
		for _, c := range a.calls {
			for _, p := range c.in {
				where[string(p.key)] = i
			}
			where[string(c.key)] = i
		}
	}
	return where
}

func (s *stage) mapStory(a *attempt, before *stage, where map[string]int) MapStory {
	m := s.mapOf()
	out := MapStory{Input: a.input, Records: []RecordStory{}, Spills: [][]Pair{}, Merged: []Pair{}}
	var held []pair
	spill := func() {
		if len(held) > 0 && !s.job.MapOnly {
			out.Spills = append(out.Spills, show(s.shrink(s.sorted(held, where)), where, m.Key, s.valueType()))
		}
	}
	var all []pair
	take := func(text string, pairs []pair) {
		out.Records = append(out.Records, RecordStory{text, show(pairs, where, m.Key, m.Value)})
		for _, p := range pairs {
			if len(held) == roomFor {
				spill()
				held = nil
			}
			held = append(held, p)
			all = append(all, p)
		}
	}
	for _, c := range a.calls {
		take(recordText(c.record, before), c.out)
	}
	if len(a.last) > 0 {
		take("(at the end)", a.last)
	}
	spill()
	out.Merged = show(s.shrink(s.sorted(all, where)), where, m.Key, s.valueType())
	return out
}

// valueType returns the type of values after the fold.
func (s *stage) valueType() mapreduce.Type {
	m := s.mapOf()
	if !s.job.Fold.IsZero() {
		if plan, err := s.job.Fold.Plan(m.Value); err == nil {
			return plan.Value
		}
	}
	return m.Value
}

// sorted orders pairs by reduce, then by the job's order of keys.
func (s *stage) sorted(pairs []pair, where map[string]int) []pair {
	out := slices.Clone(pairs)
	slices.SortStableFunc(out, func(a, b pair) int {
		if d := where[string(a.key)] - where[string(b.key)]; d != 0 {
			return d
		}
		return mapreduce.CompareOf(s.job.Sort).Of(a.key, b.key)
	})
	return out
}

// shrink makes one value of those of each key, with the job's fold or with what the combiner did in the run.
func (s *stage) shrink(pairs []pair) (out []pair) {
	for len(pairs) > 0 {
		n := 1
		for n < len(pairs) && bytes.Equal(pairs[n].key, pairs[0].key) {
			n++
		}
		group := pairs[:n]
		pairs = pairs[n:]
		switch {
		case !s.job.Fold.IsZero():
			out = append(out, s.fold(group))
		case !s.job.Combine.IsZero():
			out = append(out, s.combine(group)...)
		default:
			out = append(out, group...)
		}
	}
	return out
}

func (s *stage) fold(group []pair) pair {
	plan, err := s.job.Fold.Plan(s.mapOf().Value)
	if err != nil {
		return group[0]
	}
	var acc []byte
	for i, p := range group {
		value := slices.Clone(p.value)
		if plan.Lift != nil {
			value = plan.Lift(nil, p.value)
		}
		switch {
		case i == 0:
			acc = value
		case plan.Int != mapreduce.NoIntOp:
			acc = foldInt(plan.Int, acc, value)
		default:
			acc = plan.Merge(acc, value)
		}
	}
	if plan.Settle != nil {
		acc = plan.Settle(nil, acc)
	}
	return pair{group[0].key, acc}
}

func foldInt(op mapreduce.IntOp, a, b []byte) []byte {
	x, errX := mapreduce.Int64.Decode(a)
	y, errY := mapreduce.Int64.Decode(b)
	if errX != nil || errY != nil {
		return a
	}
	switch op {
	case mapreduce.MinInt:
		x = min(x, y)
	case mapreduce.MaxInt:
		x = max(x, y)
	default:
		x += y
	}
	return mapreduce.Int64.Append(nil, x)
}

// combine calls the job's combiner, in a task of its own.
func (s *stage) combine(group []pair) (out []pair) {
	defer func() {
		if recover() != nil { // it worked in the run; what it needs of a task may be missing here
			out = group
		}
	}()
	red, err := s.job.Combine.New(mapreduce.NewTask(context.Background(), mapreduce.TaskInfo{Job: s.job.Name, Params: s.job.Params}, &mapreduce.CounterSet{}))
	if err != nil {
		return group
	}
	if err := red.Reduce(group[0].key, &list{pairs: group, at: -1}, &tee{nowhere{}, &out}); err != nil {
		return group
	}
	return out
}

// list is a group in memory.
type list struct {
	pairs []pair
	at    int
}

func (l *list) Next() bool    { l.at++; return l.at < len(l.pairs) }
func (l *list) Key() []byte   { return l.pairs[l.at].key }
func (l *list) Value() []byte { return l.pairs[l.at].value }

type nowhere struct{}

func (nowhere) Emit(_, _ []byte)          {}
func (nowhere) EmitInt(_ []byte, _ int64) {}

func (s *stage) reduceStory(i int, a *attempt, m mapreduce.Map) ReduceStory {
	out := ReduceStory{Groups: []GroupStory{}}
	here := func(pairs []pair, key, value mapreduce.Type) []Pair {
		shown := show(pairs, nil, key, value)
		for k := range shown {
			shown[k].Reduce = i
		}
		return shown
	}
	for _, c := range a.calls {
		out.Groups = append(out.Groups, GroupStory{keyText(m.Key, c.key), here(c.in, m.Key, s.valueType()), here(c.out, s.reduceKey, s.reduce)})
	}
	out.Last = here(a.last, s.reduceKey, s.reduce)
	return out
}

func show(pairs []pair, where map[string]int, key, value mapreduce.Type) []Pair {
	out := make([]Pair, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, Pair{keyText(key, p.key), textOf(value, p.value), where[string(p.key)]})
	}
	return out
}

func textOf(t mapreduce.Type, encoded []byte) string {
	s := decoded(t, encoded)
	if !readable(s) {
		s = strconv.Quote(s)
		s = s[1 : len(s)-1]
	}
	return clip(s)
}

// keyText is textOf for keys. It shows keys that are not text byte by byte, so that their order is visible, with any
// text in them beside.
func keyText(t mapreduce.Type, encoded []byte) string {
	s := decoded(t, encoded)
	if readable(s) {
		return clip(s)
	}
	text := make([]rune, len(s))
	for i := range len(s) {
		if text[i] = rune(s[i]); s[i] < ' ' || s[i] > '~' {
			text[i] = '·'
		}
	}
	return clip(fmt.Sprintf("% x  %s", s, string(text)))
}

func decoded(t mapreduce.Type, encoded []byte) string {
	if t == nil {
		t = mapreduce.Bytes
	}
	return string(t.AppendText(nil, encoded))
}

func readable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) })
}

// clip shortens text to what a page can hold.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
