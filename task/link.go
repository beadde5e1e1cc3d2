package task

import (
	"errors"
	"fmt"

	"github.com/millrace/millrace/mapreduce"
)

// Link connects the stages of a chain through directories below dir: each reads what the previous one wrote. It does
// not change the given stages. It returns an error if a stage cannot run, before the first one does.
func Link(stages []mapreduce.Job, dir string) ([]mapreduce.Job, error) {
	jobs := append([]mapreduce.Job(nil), stages...)
	for i := range len(jobs) - 1 {
		switch next := &jobs[i+1]; {
		case jobs[i].Output != "":
			return nil, named(&jobs[i], i, fmt.Errorf("its Output %q would not be made: only the last stage of a chain has one, what others write goes to the next", jobs[i].Output))
		case len(next.Input) > 0:
			return nil, named(next, i+1, fmt.Errorf("its Input %q would not be read: it reads what the stage before it writes", next.Input))
		}
		between := fmt.Sprintf("%s/stage-%d", dir, i)
		jobs[i].Output = between
		if next := jobs[i+1].Map.Format; jobs[i].Format == nil && (next == mapreduce.RecordFile || next == mapreduce.JoinedRecords) {
			jobs[i].Format = mapreduce.RecordOutput
		}
		if next := &jobs[i+1]; len(next.Inputs) > 0 {
			return nil, named(next, i+1, errors.New("it reads what the stage before it writes: give it Map, not Inputs, which only the first stage has"))
		}
		jobs[i+1].Input = []string{between}
	}
	for i := range jobs {
		if err := jobs[i].Validate(); err != nil {
			return nil, named(&jobs[i], i, err)
		}
	}
	for i := range len(jobs) - 1 {
		if err := jobs[i].CheckNext(&jobs[i+1]); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// named adds to an error which stage it is of.
func named(j *mapreduce.Job, i int, err error) error {
	switch {
	case j.Name != "":
		return fmt.Errorf("job %s: %w", j.Name, err)
	case i > 0:
		return fmt.Errorf("stage %d: %w", i+1, err)
	}
	return err
}
