package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// anyCase are words in a case of their own for each line, and how many there are without it.
func anyCase(lines int) (text []byte, words int) {
	random := rand.New(rand.NewPCG(3, 4))
	seen := map[string]bool{}
	var b bytes.Buffer
	for range lines {
		w := fmt.Appendf(nil, "word-%d", random.IntN(lines/4))
		seen[string(w)] = true
		for i := range w {
			if random.IntN(2) == 0 {
				w[i] = bytes.ToUpper(w[i : i+1])[0]
			}
		}
		b.Write(append(w, '\n'))
	}
	return b.Bytes(), len(seen)
}

// blind compares words whatever their case, without saying what they have in common.
var blind = mapreduce.By(func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })

func countAnyCase(in string) mapreduce.Job {
	return mapreduce.Job{
		Name: "any case", Input: []string{in}, Reducers: 4, SplitBytes: 20_000,
		Map: mapreduce.Lines(func(w []byte, emit func(string, int64)) { emit(string(w), 1) }),
	}
}

// TestKeysThatCompareEqualAreOne: with an order that is blind to case, and any number of reduces, a count has as many groups as there are
// words without case, folded or not; and with a Group, alone and in ranges of keys.
func TestKeysThatCompareEqualAreOne(t *testing.T) {
	text, words := anyCase(20_000)
	b := newBed(t)
	in := b.write("in", string(text))
	lower := mapreduce.ByKey(strings.ToLower)
	for what, change := range map[string]func(*mapreduce.Job){
		"sort":        func(j *mapreduce.Job) { j.Sort = lower },
		"fold":        func(j *mapreduce.Job) { j.Sort, j.Fold, j.Reduce = lower, mapreduce.Sum, mapreduce.Reduce{} },
		"own order":   func(j *mapreduce.Job) { j.Sort, j.Partition = blind, mapreduce.HashBy(strings.ToLower) },
		"one reduce":  func(j *mapreduce.Job) { j.Sort, j.Reducers = blind, 1 },
		"ranges":      func(j *mapreduce.Job) { j.Sort, j.Partition = blind, mapreduce.TotalOrder{} },
		"group":       func(j *mapreduce.Job) { j.Sort, j.Group = lower, lower },
		"total group": func(j *mapreduce.Job) { j.Sort, j.Group, j.Partition = caseLast, lower, mapreduce.TotalOrder{} },
	} {
		t.Run(what, func(t *testing.T) {
			job := countAnyCase(in)
			job.Reduce = sumOf
			change(&job)
			if got := strings.Count(b.ok(local.Config{Sort: 1 << 20}, job), "\n"); got != words {
				t.Errorf("%d groups of %d words", got, words)
			}
		})
	}
}

// caseLast orders words whatever their case, and then by it.
var caseLast = mapreduce.By(func(a, b string) int {
	if c := strings.Compare(strings.ToLower(a), strings.ToLower(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
})

var sumOf = mapreduce.Reduce{Key: mapreduce.String, Value: mapreduce.Int64, New: func(*mapreduce.Task) (mapreduce.Reducer, error) {
	return mapreduce.ReducerFunc(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
		key, n := bytes.Clone(key), int64(0)
		for values.Next() {
			v, err := mapreduce.Int64.Decode(values.Value())
			if err != nil {
				return err
			}
			n += v
		}
		out.EmitInt(key, n)
		return nil
	}), nil
}}

// TestOrderWithoutHashIsRefused: before anything runs, with what to do, unless the job says how keys are divided or has one reduce.
func TestOrderWithoutHashIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*mapreduce.Job)
		field  string
	}{
		"sort":              {func(j *mapreduce.Job) { j.Sort = blind }, "Sort"},
		"group":             {func(j *mapreduce.Job) { j.Group, j.Reduce = blind, totalOfPairs }, "Group"},
		"reduces to choose": {func(j *mapreduce.Job) { j.Sort, j.Reducers = blind, 0 }, "Sort"},
		"partition":         {func(j *mapreduce.Job) { j.Sort, j.Partition = blind, mapreduce.HashPartition{} }, ""},
		"one reduce":        {func(j *mapreduce.Job) { j.Sort, j.Reducers = blind, 1 }, ""},
		"by a key":          {func(j *mapreduce.Job) { j.Group, j.Reduce = mapreduce.ByKey(strings.ToLower), totalOfPairs }, ""},
		"descending":        {func(j *mapreduce.Job) { j.Sort = mapreduce.Descending }, ""},
	} {
		job := countAnyCase("in")
		job.Output = "out"
		c.change(&job)
		err := job.Validate()
		var field *mapreduce.FieldError
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case c.field != "" && (!errors.As(err, &field) || field.Field != c.field || !strings.Contains(err.Error(), "ByKey")):
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestEqualKeysApartFailTheJob: a partitioner that divides keys which the order, or the group, calls equal is found out where they meet, in
// large inputs too, and both keys are named.
func TestEqualKeysApartFailTheJob(t *testing.T) {
	b := newBed(t)
	large, _ := anyCase(60_000)
	large2 := b.write("large", string(large))
	small := b.write("small", "a\nb\nA\n")
	byFirst := mapreduce.PartitionFunc(func(key, _ []byte, n int) int { return int(key[0]) % n })
	for what, c := range map[string]struct {
		in     string
		change func(*mapreduce.Job)
	}{
		"sort":  {small, func(j *mapreduce.Job) { j.Sort, j.Partition = blind, byFirst }},
		"group": {small, func(j *mapreduce.Job) { j.Group, j.Partition = mapreduce.ByKey(strings.ToLower), byFirst }},
		"fold": {small, func(j *mapreduce.Job) {
			j.Sort, j.Partition, j.Fold, j.Reduce = blind, byFirst, mapreduce.Sum, mapreduce.Reduce{}
		}},
		"large": {large2, func(j *mapreduce.Job) { j.Sort, j.Partition = blind, mapreduce.HashPartition{} }},
		"a map for each": {small, func(j *mapreduce.Job) {
			j.Sort, j.Partition, j.SplitBytes, j.Reducers = blind, mapreduce.HashPartition{}, 2, 2
		}},
	} {
		t.Run(what, func(t *testing.T) {
			job := countAnyCase(c.in)
			job.Reduce, job.Reducers = sumOf, 7
			c.change(&job)
			_, err := b.run(local.Config{Sort: 1 << 20}, job)
			apart := mapreduce.HashPartition{}.Partition([]byte("a"), nil, 2) != mapreduce.HashPartition{}.Partition([]byte("A"), nil, 2)
			if what == "a map for each" && apart {
				t.Fatal("a and A go to two reduces and meet nowhere: take two keys that do")
			}
			if !errors.Is(err, shuffle.ErrApart) {
				t.Fatal(err)
			}
			named := slices.DeleteFunc(strings.Split(err.Error(), `"`), func(s string) bool { return strings.Contains(s, " ") })
			if len(named) < 2 || !strings.EqualFold(named[0], named[1]) || named[0] == named[1] {
				t.Errorf("it names %q: %v", named, err)
			}
		})
	}
}
