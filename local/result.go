package local

import (
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

// A Result describes a run. Output is empty if it failed.
type Result struct {
	Job      string
	Output   string
	Elapsed  time.Duration
	Counts   mapreduce.Counts // of the whole chain
	Stages   []StageResult
	Attempts int
	Retries  int
	Skipped  []task.BadRecord
}

// A StageResult describes one job of a chain.
type StageResult struct {
	Job           string
	Maps, Reduces int
	// Times of the phases.
	Plan, Map, Reduce, Commit time.Duration
	Counts                    mapreduce.Counts
}
