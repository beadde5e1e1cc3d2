package local_test

import (
	"iter"
	"strings"
	"testing"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

type visit struct {
	User   string
	Second int64
}

// sessions sorts visits by user and second, and makes a group of each user.
func sessions(in string, reduce mapreduce.Reduce) mapreduce.Job {
	return mapreduce.Job{
		Input: []string{in}, Reduce: reduce,
		Map: mapreduce.Lines(func(line []byte, emit func(visit, mapreduce.None)) {
			emit(visit{string(line[:1]), int64(line[1] - '0')}, mapreduce.None{})
		}),
		Partition: mapreduce.HashBy(func(v visit) string { return v.User }),
		Group:     mapreduce.By(func(a, b visit) int { return strings.Compare(a.User, b.User) }),
	}
}

// TestEachPairOfAGroupHasItsKey: a group of several keys hands over the key of each pair, and a reduce that would see only the first is refused.
func TestEachPairOfAGroupHasItsKey(t *testing.T) {
	b := newBed(t)
	in := b.write("in", "a3\nb1\na1\na7\n")
	got := b.ok(local.Config{}, sessions(in, mapreduce.Pairs(func(visits iter.Seq2[visit, mapreduce.None], emit func(string, int64)) {
		for v := range visits {
			emit(v.User, v.Second)
		}
	})))
	if got != "a\t1\na\t3\na\t7\nb\t1\n" {
		t.Errorf("wrote %q", got)
	}
	b.fails(local.Config{}, []string{"the Reduce is made with Groups", "make it with Pairs"}, sessions(in, mapreduce.Groups(func(v visit, all iter.Seq[mapreduce.None], emit func(string, int64)) {
		for range all {
			emit(v.User, v.Second)
		}
	})))
	b.fails(local.Config{}, []string{"Group is set, and there is no Reduce"}, sessions(in, mapreduce.Reduce{}))
}

// TestValuesOfAnEarlierGroup: a sequence that is kept for a later call does not read that call's values.
func TestValuesOfAnEarlierGroup(t *testing.T) {
	const word = "reads values of an earlier group"
	for what, reduce := range map[string]mapreduce.Reduce{
		"values": mapreduce.GroupsWith(func(*mapreduce.Task) (func(string, iter.Seq[int64], func(string, int64)), error) {
			kept := func(func(int64) bool) {} // none yet
			return func(_ string, ns iter.Seq[int64], emit func(string, int64)) {
				for n := range kept {
					emit("kept", n)
				}
				kept = ns
			}, nil
		}),
		"pairs, pulled": mapreduce.PairsWith(func(*mapreduce.Task) (func(iter.Seq2[string, int64], func(string, int64)), error) {
			next := func() (string, int64, bool) { return "", 0, false }
			return func(pairs iter.Seq2[string, int64], emit func(string, int64)) {
				if w, n, ok := next(); ok {
					emit(w, n)
				}
				next, _ = iter.Pull2(pairs)
				next()
			}, nil
		}),
	} {
		t.Run(what, func(t *testing.T) {
			b := newBed(t)
			b.fails(local.Config{}, []string{word, `group "b"`}, mapreduce.Job{Input: []string{b.write("in", "a a b b\n")}, Map: words, Reduce: reduce, MaxAttempts: 1})
		})
	}
}

// TestEmitAfterTheEnd: a pair emitted after user code has returned panics and says so; nobody else would miss it.
func TestEmitAfterTheEnd(t *testing.T) {
	const late = "after the function that was given emit has returned"
	for what, job := range map[string]func(keep *func()) mapreduce.Job{
		"typed map": func(keep *func()) mapreduce.Job {
			return mapreduce.Job{MapOnly: true, Map: mapreduce.Lines(func(line []byte, emit func(string, int64)) { *keep = func() { emit("late", 1) } })}
		},
		"typed map under a fold": func(keep *func()) mapreduce.Job {
			return mapreduce.Job{Fold: mapreduce.Sum, Map: mapreduce.Lines(func(line []byte, emit func([]byte, int64)) { *keep = func() { emit(line, 1) } })}
		},
		"typed reduce": func(keep *func()) mapreduce.Job {
			return mapreduce.Job{Map: words, Reduce: mapreduce.Groups(func(w string, ns iter.Seq[int64], emit func(string, string)) { *keep = func() { emit(w, w) } })}
		},
		"map of the bytes core": func(keep *func()) mapreduce.Job { return mapreduce.Job{MapOnly: true, Map: keeps(keep)} },
		"the same under a fold": func(keep *func()) mapreduce.Job { return mapreduce.Job{Fold: mapreduce.Sum, Map: keeps(keep)} },
		"the same, shuffled":    func(keep *func()) mapreduce.Job { return mapreduce.Job{Map: keeps(keep)} },
	} {
		t.Run(what, func(t *testing.T) {
			b := newBed(t)
			emit := func() {}
			j := job(&emit)
			j.Input = []string{b.write("in", "a b\n")}
			b.ok(local.Config{Workers: 1}, j)
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, late) {
					t.Errorf("panic %q, want %q", said, late)
				}
			}()
			emit()
		})
	}
}

// keeps is a map that keeps its emitter.
func keeps(keep *func()) mapreduce.Map {
	return mapper(mapreduce.MapperFunc(func(_ mapreduce.Record, out mapreduce.Emitter) error {
		*keep = func() { out.EmitInt([]byte("late"), 1) }
		return nil
	}))
}
