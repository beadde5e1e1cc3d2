package jobs

import (
	"errors"

	"github.com/millrace/millrace/mapreduce"
)

// flagOf maps the fields of a job, and of an engine's configuration, to their flags.
var flagOf = map[string]string{
	"Reducers":       "reducers",
	"SplitBytes":     "split-bytes",
	"Compression":    "compress",
	"MaxAttempts":    "max-attempts",
	"SkipBadRecords": "skip-bad-records",
	"MaxRecordBytes": "max-record-bytes",
	"Priority":       "priority",
	"Memory":         "memory",
	"Workers":        "workers",

	"Scheduling.Expect.InputBytes":   "expect-input",
	"Scheduling.Expect.ShuffleBytes": "expect-shuffle",
	"Scheduling.Expect.MapTime":      "expect-map-time",
	"Scheduling.Expect.ReduceTime":   "expect-reduce-time",
}

// NameFlags replaces the Go fields in an error by the command line's flags, with these dashes before them.
func NameFlags(dashes string, err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range many.Unwrap() {
			errs = append(errs, NameFlags(dashes, e))
		}
		return errors.Join(errs...)
	}
	if f, ok := err.(*mapreduce.FieldError); ok && flagOf[f.Field] != "" { //nolint:errorlint // a wrapper would be lost
		return errors.New(dashes + flagOf[f.Field] + " " + f.Problem)
	}
	return err
}
