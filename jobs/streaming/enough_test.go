package streaming

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/millrace/millrace/mapreduce"
)

// A fullAttempt takes some pairs and no more.
type fullAttempt struct {
	*attempt
	room int
}

var errFull = errors.New("the disk is full")

func (a *fullAttempt) Emit(_, _ []byte)          { a.room-- }
func (a *fullAttempt) EmitInt(_ []byte, _ int64) { a.room-- }

func (a *fullAttempt) Failure() error {
	if a.room < 0 {
		return errFull
	}
	return nil
}

// TestNobodyTakesWhatItPrints: a command that never ends by itself is ended when the engine takes no more pairs.
func TestNobodyTakesWhatItPrints(t *testing.T) {
	for name, c := range map[string]struct{ command, combiner string }{
		"mapper that has read all":   {"cat > /dev/null; yes", ""},
		"mapper that reads nothing":  {"yes", ""},
		"mapper before a combiner":   {"cat > /dev/null; yes", "cat"},
		"combiner that has read all": {"cat", "cat > /dev/null; yes"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			a := &fullAttempt{newAttempt(ctx, mapreduce.TaskInfo{MaxRecord: 1 << 20}), 1000}
			m, err := Map(c.command, c.combiner).New(a.Task)
			if err != nil {
				t.Fatal(err)
			}
			err = m.Map(mapreduce.Record{Value: []byte("line")}, a)
			if err == nil {
				err = m.(mapreduce.Finisher).Finish(a)
			}
			if cerr := m.(interface{ Close() error }).Close(); !errors.Is(err, errFull) || cerr != nil {
				t.Errorf("ended with %v, closed with %v", err, cerr)
			}
		})
	}
}

// TestCombinerOfSmallPairs: what a pair takes beside its bytes counts, too, or as many empty ones as there are would be gathered.
func TestCombinerOfSmallPairs(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{MaxRecord: 16 << 10})
	c := newCombiner(a.Task, "cat")
	for range 2000 {
		if err := c.add(nil, nil, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.flush(a); err != nil {
		t.Fatal(err)
	}
	if held := cap(c.pairs) * int(unsafe.Sizeof(span{})); held > 2*c.most || len(a.lines) != 2000 {
		t.Errorf("%d bytes were held where %d may be, %d pairs came through", held, c.most, len(a.lines))
	}
}
