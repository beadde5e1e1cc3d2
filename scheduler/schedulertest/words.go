package schedulertest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/millrace/millrace/internal/priority"
	"github.com/millrace/millrace/scheduler"
)

// words are the arguments of one command. An argument that no command reads is an error.
type words struct {
	args []datadriven.CmdArg
	used []bool
	err  error
}

func (w *words) find(key string) (datadriven.CmdArg, bool) {
	if w.used == nil {
		w.used = make([]bool, len(w.args))
	}
	for i, a := range w.args {
		if a.Key == key {
			w.used[i] = true
			return a, true
		}
	}
	return datadriven.CmdArg{}, false
}

func (w *words) fail(key, want string) {
	if w.err == nil {
		w.err = fmt.Errorf("%s must be %s", key, want)
	}
}

// plain returns the arguments without a value, in order.
func (w *words) plain() []string {
	w.find("")
	var out []string
	for i, a := range w.args {
		if len(a.Vals) == 0 && !w.used[i] {
			w.used[i] = true
			out = append(out, a.Key)
		}
	}
	return out
}

func (w *words) flag(key string) bool {
	_, ok := w.find(key)
	return ok
}

func (w *words) text(key, def string) string {
	if a, ok := w.find(key); ok && len(a.Vals) == 1 {
		return a.Vals[0]
	}
	return def
}

func (w *words) list(key string) []string {
	a, _ := w.find(key)
	return a.Vals
}

func (w *words) number(key string, def float64) float64 {
	a, ok := w.find(key)
	if !ok {
		return def
	}
	f, err := strconv.ParseFloat(strings.Join(a.Vals, ","), 64)
	if err != nil {
		w.fail(key, "a number")
	}
	return f
}

func (w *words) integer(key string, def int) int { return int(w.number(key, float64(def))) }

// priority reads a name such as very-high; without the key it is Normal.
func (w *words) priority(key string) scheduler.Priority {
	p, err := priority.Parse(w.text(key, scheduler.Normal.String()))
	if err != nil {
		w.fail(key, "a priority")
	}
	return p
}

func (w *words) duration(key string, def time.Duration) time.Duration {
	a, ok := w.find(key)
	if !ok {
		return def
	}
	d, err := time.ParseDuration(strings.Join(a.Vals, ","))
	if err != nil {
		w.fail(key, "a duration")
	}
	return d
}

// size reads a number of bytes, such as 100MiB.
func (w *words) size(key string) scheduler.Size {
	a, ok := w.find(key)
	if !ok {
		return scheduler.Size{}
	}
	var n int64
	if scheduler.SetParams("story", []scheduler.Param{scheduler.ByteCount(&n, key, "", "")}, map[string]string{key: strings.Join(a.Vals, ",")}) != nil {
		w.fail(key, "a number of bytes")
		return scheduler.Size{}
	}
	return scheduler.Bytes(n)
}

// params returns all arguments with values as given.
func (w *words) params() map[string]string {
	w.find("")
	out := make(map[string]string)
	for i, a := range w.args {
		if len(a.Vals) > 0 {
			w.used[i] = true
			out[a.Key] = strings.Join(a.Vals, ",")
		}
	}
	return out
}

// rest returns an error for what could not be read and what no command asked for.
func (w *words) rest() error {
	if w.err != nil {
		return w.err
	}
	w.find("")
	for i, a := range w.args {
		if !w.used[i] {
			return fmt.Errorf("what is %q here?", a.String())
		}
	}
	return nil
}
