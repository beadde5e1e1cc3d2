package local

import (
	"github.com/millrace/millrace/mapreduce"
)

const (
	minSplit = 1 << 20
	maxSplit = 256 << 20
	// smallInput is an input that one reduce handles faster than several.
	smallInput = 4 << 20
)

// layout divides the input into a few tasks per worker, so that the last ones to end leave little idle. For sorting
// jobs no task gets more than it can sort in memory at once.
func (r *Runner) layout(job *mapreduce.Job, inputBytes int64) (splitBytes int64, reducers int) {
	workers := int64(r.cfg.Workers)
	splitBytes = inputBytes / (4 * workers)
	if job.Fold.IsZero() && !job.MapOnly {
		splitBytes = min(splitBytes, r.cfg.budget.SortBytes()/workers/2)
	}
	splitBytes = min(max(splitBytes, minSplit), maxSplit)
	if job.SplitBytes > 0 {
		splitBytes = job.SplitBytes
	}
	reducers = r.cfg.Workers
	if inputBytes < smallInput {
		reducers = 1
	}
	if job.Reducers > 0 {
		reducers = job.Reducers
	}
	return splitBytes, reducers
}
