package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/trace"
)

// jhistEvent has the fields of all kinds of event of a Hadoop job history: each kind sets some. Times are milliseconds
// since 1970.
type jhistEvent struct {
	Job       string         `json:"jobid"`
	Name      string         `json:"jobName"`
	User      string         `json:"userName"`
	Queue     string         `json:"jobQueueName"`
	Priority  string         `json:"priority"`
	Submit    int64          `json:"submitTime"`
	Task      string         `json:"taskid"`
	Type      string         `json:"taskType"`
	Attempt   string         `json:"attemptId"`
	Start     int64          `json:"startTime"`
	Finish    int64          `json:"finishTime"`
	Host      string         `json:"hostname"`
	Status    string         `json:"jobStatus"`
	Counters  *jhistCounters `json:"totalCounters"`
	AttemptID string         `json:"attemptID"` // as some versions write it
}

type jhistCounters struct {
	Groups []struct {
		Counts []struct {
			Name  string `json:"name"`
			Value int64  `json:"value"`
		} `json:"counts"`
	} `json:"groups"`
}

func isJhist(head []byte) bool {
	return bytes.HasPrefix(head, []byte("Avro-Json")) || has(first(head), "JOB_SUBMITTED")
}

// readJhist reads events one a line. The first lines say "Avro-Json" and give the schema; files may follow each other in one.
func readJhist(r *reader) error {
	log := &jhist{reader: r, began: map[string]int64{}}
	return r.lines(func(line []byte) error {
		if bytes.HasPrefix(line, []byte("Avro-Json")) {
			log.job, log.began = nil, map[string]int64{}
			return nil
		}
		e, err := decode[struct {
			Type  string                     `json:"type"`
			Event map[string]json.RawMessage `json:"event"`
		}](line)
		if err != nil {
			return err
		}
		for _, body := range e.Event { // one, under the name of its class
			v, err := decode[jhistEvent](body)
			if err != nil {
				return err
			}
			return log.event(e.Type, &v)
		}
		return nil // the schema
	})
}

// jhist is a job whose events are being read.
type jhist struct {
	*reader
	job   *trace.PastJob
	began map[string]int64 // attempts that have started
}

func (l *jhist) event(kind string, e *jhistEvent) (err error) {
	if kind == "JOB_SUBMITTED" {
		if l.job, err = l.build.Job(e.Job); err != nil {
			return err
		}
		l.job.Name, l.job.User, l.job.Queue = e.Name, e.User, e.Queue
		l.job.Submit, err = stamp("submitTime", e.Submit, time.Millisecond)
		return err
	}
	if l.job == nil {
		return fmt.Errorf("%s before JOB_SUBMITTED", kind)
	}
	attempt := e.Attempt + e.AttemptID
	switch {
	case kind == "JOB_PRIORITY_CHANGED":
		l.job.Priority = hadoopPriority[e.Priority]
	case kind == "JOB_FINISHED":
		l.job.State = trace.JobDone
		return l.counted(e.Counters)
	case kind == "JOB_FAILED" || kind == "JOB_KILLED" || kind == "JOB_ERROR":
		l.job.State = trace.JobFailed
	case strings.HasSuffix(kind, "_ATTEMPT_STARTED"):
		if len(l.began) >= trace.MaxBuilt {
			return fmt.Errorf("more than %d attempts have begun", trace.MaxBuilt)
		}
		l.began[attempt] = e.Start
	case strings.Contains(kind, "_ATTEMPT_") && (strings.HasPrefix(kind, "MAP_") || strings.HasPrefix(kind, "REDUCE_")):
		return l.ended(attempt, e)
	}
	return nil // events of tasks repeat what those of attempts say; set-up and clean-up are left out
}

func (l *jhist) ended(attempt string, e *jhistEvent) error {
	start, ok := l.began[attempt]
	if !ok {
		return nil // killed before it began
	}
	delete(l.began, attempt)
	a, err := span("attempt "+attempt, start, e.Finish)
	if err != nil {
		return err
	}
	a.Kind, a.Node = "map", e.Host
	if e.Type == "REDUCE" {
		a.Kind = "reduce"
	}
	return l.build.Attempt(l.job.ID, e.Task, a)
}

// counted reads a job's bytes from its counters.
func (l *jhist) counted(c *jhistCounters) error {
	if c == nil {
		return nil
	}
	for _, g := range c.Groups {
		for _, n := range g.Counts {
			var into *int64
			switch n.Name {
			case "HDFS_BYTES_READ":
				into = &l.job.InputBytes
			case "REDUCE_SHUFFLE_BYTES":
				into = &l.job.ShuffleBytes
			case "HDFS_BYTES_WRITTEN":
				into = &l.job.OutputBytes
			default:
				continue
			}
			*into = 0 // newer versions have a group of the same name in the old place, too
			if err := addBytes(into, n.Value); err != nil {
				return fmt.Errorf("counter %s: %w", n.Name, err)
			}
		}
	}
	return nil
}
