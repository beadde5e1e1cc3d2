package local

import (
	"slices"
	"time"

	"github.com/millrace/millrace/mapreduce"
)

// A BadRecord is a record that was skipped.
type BadRecord = mapreduce.BadRecord

// A Result describes a run. Output is empty if the run failed.
type Result struct {
	Job     string
	Output  string
	Elapsed time.Duration
	// Counts are those of the whole chain: what its first stage read, what its last one wrote, and sums of the rest.
	// Until the last stage has ended, they count no output.
	Counts   mapreduce.Counts
	Stages   []StageResult
	Attempts int
	Retries  int
	Skipped  []BadRecord
}

// A StageResult describes one job of a chain.
type StageResult struct {
	Job           string
	Maps, Reduces int
	// Durations of the phases.
	Plan, Map, Reduce, Commit time.Duration
	Counts                    mapreduce.Counts
}

// inputs and outputs are the counters of what a stage reads from outside and writes to outside. Data between two
// stages of a chain is neither.
var (
	inputs  = []string{mapreduce.MapInputRecords, mapreduce.MapInputBytes}
	outputs = []string{mapreduce.OutputRecords, mapreduce.OutputBytes, mapreduce.ReduceOutputRecords}
)

// ChainCounts returns the counters of a chain with that many stages, of which some have ended.
func ChainCounts(ended []StageResult, stages int) mapreduce.Counts {
	sum := mapreduce.Counts{}
	for i, s := range ended {
		s.Counts.Each(func(group, name string, n int64) {
			between := i > 0 && slices.Contains(inputs, name) || i < stages-1 && slices.Contains(outputs, name)
			if group != mapreduce.TaskGroup || !between {
				sum.Add(mapreduce.Counts{group: {name: n}})
			}
		})
	}
	return sum
}
