package formats

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millrace/millrace/trace"
)

// slsJob is a job of YARN's Scheduler Load Simulator. Times are milliseconds.
type slsJob struct {
	Type  string    `json:"am.type,omitempty"`
	Start int64     `json:"job.start.ms"`
	End   int64     `json:"job.end.ms,omitempty"`
	Queue string    `json:"job.queue.name,omitempty"`
	ID    string    `json:"job.id,omitempty"`
	User  string    `json:"job.user,omitempty"`
	Count int       `json:"job.count,omitempty"`
	Tasks []slsTask `json:"job.tasks"`
}

type slsTask struct {
	Host     string `json:"container.host,omitempty"`
	Start    int64  `json:"container.start.ms"`
	End      int64  `json:"container.end.ms"`
	Duration int64  `json:"duration.ms,omitempty"`
	Count    int    `json:"count,omitempty"`
	Priority int    `json:"container.priority,omitempty"`
	Type     string `json:"container.type,omitempty"`
}

func isSLS(head []byte) bool { return has(head, "job.tasks", "job.start.ms", "am.type") }

func readSLS(r *reader) error {
	n := 0
	return r.objects(func(object []byte) error {
		in, err := decode[slsJob](object)
		if err != nil {
			return err
		}
		if in.Count < 0 || in.Count > maxCount {
			return fmt.Errorf("job.count %d is not in 0..%d", in.Count, maxCount)
		}
		n++
		for copied := range max(1, in.Count) {
			id := cmp.Or(in.ID, fmt.Sprint("job ", n))
			if copied > 0 {
				id = fmt.Sprint(id, " ", copied+1)
			}
			if err := r.slsJob(id, &in); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxCount bounds how often a job or a task repeats.
const maxCount = 1_000_000

func (r *reader) slsJob(id string, in *slsJob) error {
	j, err := r.build.Job(id)
	if err != nil {
		return err
	}
	if j.Submit != trace.Unknown {
		return fmt.Errorf("a second job %q", id)
	}
	if j.Submit, err = stamp("job.start.ms", in.Start, time.Millisecond); err != nil {
		return err
	}
	j.User, j.Queue, j.State = in.User, in.Queue, trace.JobDone
	for i, t := range in.Tasks {
		if t.Count < 0 || t.Count > maxCount {
			return fmt.Errorf("job %q: count %d is not in 0..%d", id, t.Count, maxCount)
		}
		if t.End == 0 && t.Duration > 0 {
			t.Start = cmp.Or(t.Start, in.Start)
			t.End = t.Start + t.Duration
		}
		a, err := span(fmt.Sprintf("job %q, task %d", id, i+1), t.Start, t.End)
		if err != nil {
			return err
		}
		a.Node, a.Kind = t.Host[strings.LastIndexByte(t.Host, '/')+1:], "map"
		if strings.EqualFold(t.Type, "reduce") {
			a.Kind = "reduce"
		}
		for c := range max(1, t.Count) {
			if err := r.build.Attempt(id, fmt.Sprint(i, " ", c), a); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSLS writes the jobs with attempts, and those of their attempts that gave a result.
func writeSLS(w io.Writer, h *trace.History) error {
	tasks := map[string][]slsTask{}
	rack := map[string]string{}
	for _, m := range h.Origin.Machines {
		rack[m.Name] = m.Rack
	}
	for _, a := range h.Attempts {
		if a.Lost {
			continue
		}
		t := slsTask{Start: a.Start.Milliseconds(), End: a.End.Milliseconds(), Priority: map[string]int{"map": 20, "reduce": 10}[a.Kind], Type: a.Kind}
		if a.Node != "" {
			t.Host = "/" + cmp.Or(rack[a.Node], "default-rack") + "/" + a.Node
		}
		tasks[a.Job] = append(tasks[a.Job], t)
	}
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	e.SetIndent("", "  ")
	for i := range h.Jobs {
		j := &h.Jobs[i]
		if len(tasks[j.ID]) == 0 {
			continue // SLS has only times
		}
		if err := e.Encode(slsJob{
			Type: "mapreduce", Start: j.Submit.Milliseconds(), End: j.End.Milliseconds(), Queue: cmp.Or(j.Queue, "default"),
			ID: j.ID, User: cmp.Or(j.User, "default"), Tasks: tasks[j.ID],
		}); err != nil {
			return err
		}
	}
	return b.Flush()
}
