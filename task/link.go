package task

import (
	"fmt"

	"github.com/millrace/millrace/mapreduce"
)

// Link connects the stages of a chain through directories below dir: each reads what the one
// before wrote. The stages given are not changed.
func Link(stages []mapreduce.Job, dir string) []mapreduce.Job {
	jobs := append([]mapreduce.Job(nil), stages...)
	for i := range len(jobs) - 1 {
		between := fmt.Sprintf("%s/stage-%d", dir, i)
		jobs[i].Output = between
		if next := jobs[i+1].Map.Format; jobs[i].Format == nil && (next == mapreduce.RecordFile || next == mapreduce.JoinedRecords) {
			jobs[i].Format = mapreduce.RecordOutput
		}
		jobs[i+1].Input = []string{between}
	}
	return jobs
}
