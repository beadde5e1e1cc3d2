package formats

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/millrace/millrace/trace"
)

// sparkEvent has the fields of all kinds of line of a Spark event log. Times are milliseconds since 1970.
type sparkEvent struct {
	Event     string       `json:"Event"`
	App       string       `json:"App ID"`
	AppName   string       `json:"App Name"`
	User      string       `json:"User"`
	Job       int64        `json:"Job ID"`
	Submit    int64        `json:"Submission Time"`
	Completed int64        `json:"Completion Time"`
	Stages    []sparkStage `json:"Stage Infos"`
	Stage     int64        `json:"Stage ID"`
	Result    struct {
		Result string `json:"Result"`
	} `json:"Job Result"`
	End struct {
		Reason string `json:"Reason"`
	} `json:"Task End Reason"`
	Task struct {
		Index    int64  `json:"Index"`
		Launch   int64  `json:"Launch Time"`
		Finish   int64  `json:"Finish Time"`
		Host     string `json:"Host"`
		Locality string `json:"Locality"`
	} `json:"Task Info"`
	Metrics struct {
		Input struct {
			Bytes int64 `json:"Bytes Read"`
		} `json:"Input Metrics"`
		Output struct {
			Bytes int64 `json:"Bytes Written"`
		} `json:"Output Metrics"`
		Shuffle struct {
			Remote int64 `json:"Remote Bytes Read"`
			Local  int64 `json:"Local Bytes Read"`
		} `json:"Shuffle Read Metrics"`
	} `json:"Task Metrics"`
}

type sparkStage struct {
	ID      int64   `json:"Stage ID"`
	Parents []int64 `json:"Parent IDs"`
}

func isSpark(head []byte) bool {
	return has(first(head), "Event") && bytes.Contains(first(head), []byte("SparkListener"))
}

// spark is an application whose log is being read.
type spark struct {
	*reader
	app, name, user string
	stages          map[int64]stageOf
}

// stageOf is the job of a stage, and whether the stage waits for another.
type stageOf struct {
	job   string
	waits bool
}

// readSpark makes a job of each job of an application: tasks of stages without a parent are maps, all others reduces.
func readSpark(r *reader) error {
	log := &spark{reader: r, stages: map[int64]stageOf{}, app: fmt.Sprint("app-", r.file+1)}
	return r.lines(func(line []byte) error {
		e, err := decode[sparkEvent](line)
		if err != nil {
			return err
		}
		switch e.Event {
		case "SparkListenerApplicationStart":
			log.app, log.name, log.user = cmp.Or(e.App, log.app), e.AppName, e.User
		case "SparkListenerJobStart":
			return log.began(&e)
		case "SparkListenerTaskEnd":
			return log.task(&e)
		case "SparkListenerJobEnd":
			if j, err := log.build.Job(log.id(e.Job)); err == nil {
				j.State = trace.JobDone
				if e.Result.Result != "JobSucceeded" {
					j.State = trace.JobFailed
				}
			}
		}
		return nil
	})
}

func (l *spark) id(job int64) string { return fmt.Sprint(l.app, "/", job) }

func (l *spark) began(e *sparkEvent) error {
	j, err := l.build.Job(l.id(e.Job))
	if err != nil {
		return err
	}
	if j.Submit != trace.Unknown {
		return fmt.Errorf("job %q starts twice", j.ID)
	}
	j.Name, j.User = l.name, l.user
	if j.Submit, err = stamp("Submission Time", e.Submit, time.Millisecond); err != nil {
		return err
	}
	if len(l.stages)+len(e.Stages) > maxCount {
		return fmt.Errorf("more than %d stages", maxCount)
	}
	for _, s := range e.Stages {
		if _, known := l.stages[s.ID]; !known { // a later job that lists the stage again reuses its output
			l.stages[s.ID] = stageOf{j.ID, len(s.Parents) > 0}
		}
	}
	return nil
}

func (l *spark) task(e *sparkEvent) error {
	of, ok := l.stages[e.Stage]
	if !ok {
		return fmt.Errorf("a task of stage %d, which no job has", e.Stage)
	}
	a, err := span(fmt.Sprintf("stage %d, task %d", e.Stage, e.Task.Index), e.Task.Launch, e.Task.Finish)
	if err != nil {
		return err
	}
	a.Kind, a.Node = "map", e.Task.Host
	if of.waits {
		a.Kind = "reduce"
	} else {
		a.Locality = map[string]string{"PROCESS_LOCAL": "node", "NODE_LOCAL": "node", "RACK_LOCAL": "rack", "ANY": "remote"}[e.Task.Locality]
	}
	if err := l.build.Attempt(of.job, fmt.Sprint(e.Stage, "/", e.Task.Index), a); err != nil {
		return err
	}
	j, err := l.build.Job(of.job)
	if err != nil || e.End.Reason != "Success" {
		return err
	}
	m := &e.Metrics
	for _, add := range []struct {
		into *int64
		n    int64
	}{{&j.InputBytes, m.Input.Bytes}, {&j.ShuffleBytes, m.Shuffle.Remote}, {&j.ShuffleBytes, m.Shuffle.Local}, {&j.OutputBytes, m.Output.Bytes}} {
		if err := addBytes(add.into, add.n); err != nil {
			return err
		}
	}
	return nil
}
