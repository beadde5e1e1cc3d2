package task

import (
	"errors"
	"io/fs"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// A verdict is an error of user code that knows whether another attempt can help.
type verdict interface {
	error
	Final() bool
}

// Final reports whether another attempt cannot help after one that ended with err.
func Final(err error) bool {
	if v, ok := errors.AsType[verdict](err); ok {
		return v.Final()
	}
	return errors.Is(err, mapreduce.ErrRecordTooLarge) || errors.Is(err, mapreduce.ErrCompression) || errors.Is(err, shuffle.ErrRecordTooLarge) || errors.Is(err, shuffle.ErrApart) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrOutputExists)
}
