package local

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

// Config says what a run may use.
type Config struct {
	// Workers is how many attempts run at once. 0 means one per core
	// (GOMAXPROCS). More share the same memory in smaller pieces.
	Workers int
	// Memory is the budget in bytes for everything that grows with data: sort
	// buffers, kept map output, merge buffers. Smaller: more spills, slower. 0
	// means DefaultMemory. It is a bound on the data structures of the run, not
	// on what user code allocates.
	Memory int64
	// Scratch is the directory that spills go below. Empty means the system's
	// directory for temporary files.
	Scratch string
	// Overwrite replaces an existing output directory, at commit.
	Overwrite bool
	// Store resolves paths. The zero value is the local disk.
	Store storage.Mux
}

// Bounds of [Config.Memory].
const (
	DefaultMemory = 1 << 30 // ours: a quarter of a small laptop
	MinMemory     = 1 << 20
)

// DefaultConfig returns the configuration of a plain run.
func DefaultConfig() Config { return Config{Memory: DefaultMemory} }

func (c Config) withDefaults() (Config, error) {
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Memory == 0 {
		c.Memory = DefaultMemory
	}
	if c.Workers < 1 || c.Workers > 1024 {
		return c, &mapreduce.FieldError{Field: "Workers", Problem: fmt.Sprintf("is %d, must be in 1..1024", c.Workers)}
	}
	if c.Memory < MinMemory {
		return c, &mapreduce.FieldError{Field: "Memory", Problem: fmt.Sprintf("is %d bytes, must be at least %d (1MiB)", c.Memory, MinMemory)}
	}
	return c, nil
}

// poolBytes is the part of the budget that the shuffle hands out. The rest is for
// read and write buffers and the runtime.
func (c Config) poolBytes() int64 { return c.Memory - min(c.Memory/4, 48<<20) }

// mergeFactor keeps the files that merges hold open at once below the process's
// limit: each attempt has some of its own, and the rest of the program needs a few.
// 0 leaves the choice to the shuffle.
func (c Config) mergeFactor() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<16 {
		return 0
	}
	const others, perAttempt = 24, 4
	spare := (int(limit.Cur)-others)/c.Workers - perAttempt
	if spare >= 64 {
		return 0
	}
	return max(2, spare)
}

// maxRecord is the largest record that is sure to fit through every stage.
func (c Config) maxRecord() int { return int(min(c.Memory/2, 1<<30)) }
