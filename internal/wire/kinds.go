package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// A Kind says what a caller can do about an error. It is itself an error, so that
// errors.Is(err, wire.NotFound) reads well.
type Kind uint8

// The kinds. Their numbers cross the wire, so only append.
const (
	Internal    Kind = iota // a bug of ours; the text is for users
	Invalid                 // the request can never succeed as it stands
	NotFound                // the named thing does not exist
	Exists                  // the name is taken
	Denied                  // not allowed to this user
	Quota                   // a limit of a user, directory or queue is reached
	NoSpace                 // disks are full
	Unavailable             // not now: try again, perhaps elsewhere
	Stale                   // an old epoch, generation, lease or attempt: give up
	Corrupt                 // bytes are not what was written
	Canceled                // somebody asked to stop
	TooLarge                // beyond a configured size
	numKinds
)

var kindNames = [numKinds]string{
	"internal", "invalid", "not found", "exists", "denied", "quota exceeded", "no space",
	"unavailable", "stale", "corrupt", "canceled", "too large",
}

// Error returns the name of the kind.
func (k Kind) Error() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Retryable reports whether the same request may succeed later.
func (k Kind) Retryable() bool { return k == Unavailable }

// Is makes kinds match the errors of package fs.
func (k Kind) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return k == NotFound
	case fs.ErrExist:
		return k == Exists
	case fs.ErrPermission:
		return k == Denied
	case context.Canceled:
		return k == Canceled
	}
	return false
}

// An Error is an error with a kind. It is what crosses the wire.
type Error struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the kind, for errors.Is.
func (e *Error) Unwrap() error { return e.Kind }

// Errorf makes an error of a kind. A %w in the format only adds to the text. Only the kind and the text cross the
// wire.
func Errorf(k Kind, format string, args ...any) error {
	return &Error{k, fmt.Errorf(format, args...).Error()}
}

// KindOf returns the kind of an error: its own if it has one, else what errors of packages fs and context correspond
// to.
func KindOf(err error) Kind {
	if k, ok := errors.AsType[Kind](err); ok {
		return k
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return NotFound
	case errors.Is(err, fs.ErrExist):
		return Exists
	case errors.Is(err, fs.ErrPermission):
		return Denied
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	}
	return Internal
}

// ToError converts an error to the form that crosses the wire, with at most MaxText bytes, since errors may quote
// their input.
func ToError(err error) *Error { return &Error{KindOf(err), Clip(err.Error(), MaxText)} }
