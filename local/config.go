package local

import (
	"cmp"
	"fmt"
	"runtime"
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/storage"
)

// Config configures a run.
type Config struct {
	// Workers is how many attempts run at a time. 0 means one per core (GOMAXPROCS). More share the same memory in
	// smaller pieces.
	Workers int
	// Memory is the budget of the run in bytes, which [shuffle.Budget] divides. Smaller: more spills, slower, and a
	// smaller limit on records. 0 means DefaultMemory. It does not bound what user code allocates.
	Memory int64
	// Sort, if not 0, limits the part of Memory for sorting, kept map output and merging, so that the run spills
	// sooner than it must.
	Sort int64
	// Scratch is the directory for spills. Empty means the system's directory for temporary files.
	Scratch string
	// TaskTimeout is how long user code may go without a sign of life (see [mapreduce.Task.Alive]) before its
	// attempt fails. 0 means DefaultTaskTimeout, less than 0 forever.
	TaskTimeout time.Duration
	// Overwrite replaces an existing output directory, at commit.
	Overwrite bool
	// Store resolves paths. The zero value is the local disk.
	Store storage.Mux

	budget shuffle.Budget // of Memory and Sort
}

// DefaultTaskTimeout is Hadoop's.
const DefaultTaskTimeout = 10 * time.Minute

// Bounds of [Config.Memory].
const (
	DefaultMemory = shuffle.DefaultMemory
	MinMemory     = shuffle.MinMemory
)

// DefaultConfig returns the configuration of a plain run.
func DefaultConfig() Config { return Config{Memory: DefaultMemory} }

func (c Config) withDefaults() (Config, error) {
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Workers < 1 || c.Workers > 1024 {
		return c, &mapreduce.FieldError{Field: "Workers", Problem: fmt.Sprintf("is %d, must be in 1..1024", c.Workers)}
	}
	c.TaskTimeout = cmp.Or(c.TaskTimeout, DefaultTaskTimeout)
	var err error
	if c.budget, err = shuffle.NewBudget(c.Memory, c.Sort); err != nil {
		return c, &mapreduce.FieldError{Field: "Memory", Problem: err.Error()}
	}
	return c, nil
}

// mergeFactor keeps the number of files that merges hold open below the process's limit. Each attempt has some of
// its own, and the rest of the program needs a few. 0 leaves the choice to the shuffle.
func (c Config) mergeFactor() int {
	limit := fileLimit()
	if limit == 0 || limit > 1<<16 {
		return 0
	}
	const others, perAttempt = 24, 4
	spare := (int(limit)-others)/c.Workers - perAttempt
	if spare >= 64 {
		return 0
	}
	return max(2, spare)
}
