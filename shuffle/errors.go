package shuffle

import (
	"errors"
	"fmt"
	"runtime/debug"
)

var (
	// ErrCorrupt marks data that was damaged at rest or in flight. The remedy is to fetch it or make it again, not
	// to read the same bytes once more.
	ErrCorrupt = errors.New("corrupt data")

	// ErrScratch marks a failure of our own scratch disk (full, unreadable,
	// gone). The producer of the data is not to blame for it.
	ErrScratch = errors.New("scratch disk")

	// ErrRecordTooLarge marks a record above Config.MaxRecord.
	ErrRecordTooLarge = errors.New("record too large")

	// ErrApart marks keys that are one, but that Partition puts apart.
	ErrApart = errors.New("the partitioner divides keys that are equal")
	// ErrDuplicate marks a segment that an Intake already has.
	ErrDuplicate = errors.New("segment already taken in")

	// errFinished is returned by calls on a collector that was finished or discarded.
	errFinished = errors.New("collector is finished")
)

// corruptf names the damaged place: file, partition, offset and what was found.
func corruptf(file string, partition int, offset int64, format string, args ...any) error {
	what := fmt.Errorf(format, args...)
	return fmt.Errorf("%s: partition %d, offset %d: %w: %w", file, partition, offset, what, ErrCorrupt)
}

// scratchErr marks err as a fault of the scratch disk.
func scratchErr(action, path string, err error) error {
	return fmt.Errorf("%s %s: %w: %w", action, path, ErrScratch, err)
}

func tooLarge(name string, size, limit int) error {
	return fmt.Errorf("%s: record of %d bytes, limit %d: %w", name, size, limit, ErrRecordTooLarge)
}

// PanicError is a panic in the caller's Compare, Combine or Fold in the background, where the caller could not have
// recovered from it, or their call of runtime.Goexit.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// guard runs f in the background and tells done how it ended. It turns a panic, or a call of runtime.Goexit, into an
// error. After Goexit, nothing but done runs here.
func guard(f func() error, done func(error)) {
	var err error
	returned := false
	defer func() {
		v := recover()
		if v == nil && !returned {
			v = "the goroutine was ended by runtime.Goexit"
		}
		if v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		done(err)
	}()
	err = f()
	returned = true
}
