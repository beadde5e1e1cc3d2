package formats

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millrace/millrace/trace"
)

// rumenJob is a job as Rumen's TraceBuilder writes it. Times are milliseconds; -1 means unknown.
type rumenJob struct {
	ID       string      `json:"jobID"`
	Name     string      `json:"jobName"`
	User     string      `json:"user"`
	Queue    string      `json:"queue"`
	Priority string      `json:"priority"`
	Outcome  string      `json:"outcome"`
	Submit   int64       `json:"submitTime"`
	Finish   int64       `json:"finishTime"`
	Maps     []rumenTask `json:"mapTasks"`
	Reduces  []rumenTask `json:"reduceTasks"`
}

type rumenTask struct {
	ID       string         `json:"taskID"`
	Start    int64          `json:"startTime"`
	Finish   int64          `json:"finishTime"`
	Input    int64          `json:"inputBytes"`
	Output   int64          `json:"outputBytes"`
	Attempts []rumenAttempt `json:"attempts"`
}

type rumenAttempt struct {
	Host    string `json:"hostName"`
	Start   int64  `json:"startTime"`
	Finish  int64  `json:"finishTime"`
	Read    int64  `json:"hdfsBytesRead"`
	Written int64  `json:"hdfsBytesWritten"`
	Shuffle int64  `json:"reduceShuffleBytes"`
	Result  string `json:"result"`
}

func isRumen(head []byte) bool { return has(head, "jobID", "mapTasks", "computonsPerMapInputByte") }

func readRumen(r *reader) error {
	return r.objects(func(object []byte) error {
		in, err := decode[rumenJob](object)
		if err != nil {
			return err
		}
		j, err := r.build.Job(in.ID)
		if err != nil {
			return err
		}
		if j.Submit != trace.Unknown {
			return fmt.Errorf("a second job %q", in.ID)
		}
		if j.Submit, err = stamp("submitTime", in.Submit, time.Millisecond); err != nil {
			return err
		}
		j.Name, j.User, j.Queue, j.Priority, j.State = in.Name, in.User, in.Queue, hadoopPriority[in.Priority], hadoopState(in.Outcome)
		for i := range in.Maps {
			if err := r.rumenTask(j, "map", &in.Maps[i]); err != nil {
				return err
			}
		}
		for i := range in.Reduces {
			if err := r.rumenTask(j, "reduce", &in.Reduces[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *reader) rumenTask(j *trace.PastJob, kind string, t *rumenTask) error {
	var good *rumenAttempt
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Start <= 0 || a.Finish < a.Start {
			continue // it never began, or its end is unknown
		}
		at, err := span(fmt.Sprintf("job %q, task %q", j.ID, t.ID), a.Start, a.Finish)
		if err != nil {
			return err
		}
		at.Kind, at.Node = kind, a.Host
		if err := r.build.Attempt(j.ID, t.ID, at); err != nil {
			return err
		}
		if a.Result == "SUCCESS" || good == nil {
			good = a
		}
	}
	if good == nil {
		good = &rumenAttempt{}
	}
	if kind == "map" {
		return addBytes(&j.InputBytes, max(0, t.Input, good.Read))
	}
	if err := addBytes(&j.ShuffleBytes, max(0, t.Input, good.Shuffle)); err != nil {
		return err
	}
	return addBytes(&j.OutputBytes, max(0, t.Output, good.Written))
}

// addBytes refuses sums that no job can have.
func addBytes(into *int64, n int64) error {
	if n < 0 || n > maxBytes-*into {
		return fmt.Errorf("%d more bytes are beyond 2^60", n)
	}
	*into += n
	return nil
}

const maxBytes = int64(1) << 60

var hadoopPriority = map[string]int{"VERY_LOW": -2, "LOW": -1, "NORMAL": 0, "HIGH": 1, "VERY_HIGH": 2}

func hadoopState(s string) trace.JobState {
	switch cmp.Or(s, "SUCCESS") {
	case "SUCCESS", "SUCCEEDED":
		return trace.JobDone
	}
	return trace.JobFailed
}
