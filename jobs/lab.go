package jobs

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/mapreduce"
)

var sleep = Builtin{
	Name:    "sleep",
	Summary: "tasks that only sleep: the unit of scheduling tests",
	Example: "sleep --maps 10 --reduces 2 --map-time 500ms --reduce-time 1s",
	NoInput: true, Result: true, reduces: "give --reduces",
	define: func(flags *pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		l := &loadOptions{}
		l.flags(flags)
		return l.jobs
	},
}

var synthetic = Builtin{
	Name:    "synthetic",
	Summary: "a job of given task counts, durations and shuffle bytes: the unit of scheduling labs",
	Example: "synthetic --maps 20 --reduces 4 --map-time 1s --reduce-time 2s --shuffle-bytes 10MiB --deadline 60s",
	NoInput: true, Result: true, reduces: "give --reduces",
	define: func(flags *pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		l := &loadOptions{}
		l.flags(flags)
		flags.Var(&l.shuffle, "shuffle-bytes", "bytes that all maps together send to the reduces")
		flags.StringArrayVarP(&l.input, "input", "i", nil, "files to read before sleeping, in words of 8 bytes: a map for each --split-bytes, of which --maps says how many there are")
		return l.jobs
	},
}

// loadOptions describe a job whose tasks take time and move bytes but compute nothing.
type loadOptions struct {
	maps, reduces       int
	mapTime, reduceTime time.Duration
	shuffle             ByteSize
	input               []string
}

func (l *loadOptions) flags(flags *pflag.FlagSet) {
	flags.IntVar(&l.maps, "maps", 1, "number of map tasks")
	flags.IntVar(&l.reduces, "reduces", 1, "number of reduce tasks (0: none)")
	flags.DurationVar(&l.mapTime, "map-time", time.Second, "duration of a map task")
	flags.DurationVar(&l.reduceTime, "reduce-time", time.Second, "duration of a reduce task, once its input is there")
}

func (l *loadOptions) check() error {
	for _, err := range []error{
		checkRange("maps", int64(l.maps), 1, 1_000_000),
		checkRange("reduces", int64(l.reduces), 0, mapreduce.MaxReducers),
		checkTime("map-time", l.mapTime), checkTime("reduce-time", l.reduceTime),
		checkRange("shuffle-bytes", int64(l.shuffle), 0, 1<<50),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loadOptions) jobs(base mapreduce.Job) ([]mapreduce.Job, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	split := base.SplitBytes
	base.Input = []string{mapreduce.CountInput(int64(l.maps))}
	base.SplitBytes = 8 // one number is one map task
	base.Map = mapreduce.Map{
		Format: mapreduce.FixedSize(8),
		New: func(t *mapreduce.Task) (mapreduce.Mapper, error) {
			if len(l.input) > 0 {
				return &readingMapper{load: l, task: t}, nil
			}
			return mapreduce.MapperFunc(func(_ mapreduce.Record, out mapreduce.Emitter) error { return l.mapOne(t, out) }), nil
		},
	}
	if len(l.input) > 0 {
		base.Input, base.SplitBytes = l.input, split
	}
	if l.reduces == 0 {
		base.MapOnly = true
		return []mapreduce.Job{base}, nil
	}
	base.Reducers = l.reduces
	base.Partition = mapreduce.PartitionFunc(func(key, _ []byte, n int) int {
		return int(binary.BigEndian.Uint64(key) % uint64(n))
	})
	base.Reduce = mapreduce.Reduce{New: func(t *mapreduce.Task) (mapreduce.Reducer, error) {
		return &sleepReducer{ctx: t.Context(), time: l.reduceTime}, nil
	}}
	return []mapreduce.Job{base}, nil
}

// readingMapper reads all its input, and then sleeps and sends.
type readingMapper struct {
	load *loadOptions
	task *mapreduce.Task
}

var (
	_ mapreduce.ChunkMapper = (*readingMapper)(nil)
	_ mapreduce.Finisher    = (*readingMapper)(nil)
)

func (*readingMapper) Map(mapreduce.Record, mapreduce.Emitter) error { return nil }

func (*readingMapper) MapChunk([]byte, int64, mapreduce.Emitter) error { return nil }

func (m *readingMapper) Finish(out mapreduce.Emitter) error {
	return m.load.mapOne(m.task, out)
}

// payload is the size of one synthetic value.
const payload = 1 << 10

// mapOne sleeps, then sends its share of bytes evenly to all reduces. Each gets at least one record, so that every
// reduce has something to wait for.
func (l *loadOptions) mapOne(t *mapreduce.Task, out mapreduce.Emitter) error {
	if err := pause(t.Context(), l.mapTime); err != nil {
		return err
	}
	if l.reduces == 0 {
		return nil
	}
	share := int64(l.shuffle) / int64(l.maps)
	noise := rand.New(rand.NewPCG(uint64(t.Index), 1))
	value := make([]byte, payload)
	var key [8]byte
	for sent, r := int64(0), uint64(0); sent < share || r < uint64(l.reduces); r++ {
		n := int(min(int64(payload), max(0, share-sent)))
		for i := 0; i+8 <= n; i += 8 {
			binary.LittleEndian.PutUint64(value[i:], noise.Uint64())
		}
		binary.BigEndian.PutUint64(key[:], r)
		out.Emit(key[:], value[:n])
		sent += int64(n)
	}
	return nil
}

// sleepReducer sleeps once, when its first group arrives.
type sleepReducer struct {
	ctx  context.Context
	time time.Duration
	done bool
}

func (s *sleepReducer) Reduce(_ []byte, values mapreduce.Values, _ mapreduce.Emitter) error {
	for values.Next() {
		continue
	}
	if s.done {
		return nil
	}
	s.done = true
	return pause(s.ctx, s.time)
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ByteSize is a flag value such as 10MiB, 1GB or 4096.
type ByteSize int64

// String formats the size with the largest unit that divides it.
func (b *ByteSize) String() string { return human.FormatBytes(int64(*b)) }

// Type names the flag's kind.
func (*ByteSize) Type() string { return "size" }

// Set parses a size.
func (b *ByteSize) Set(s string) error {
	n, err := human.ParseBytes(s)
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	*b = ByteSize(n)
	return nil
}
