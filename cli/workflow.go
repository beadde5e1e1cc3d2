package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/launch"
	"github.com/millrace/millrace/internal/wire"
)

// workflow is a set of jobs for a cluster. Each is submitted when its time has come and the jobs before it have
// succeeded.
type workflow struct {
	cl   *client.Client
	jobs []dueJob
	// tell, if set, is called for each job that was submitted, has ended, or never will be submitted.
	tell func(j *dueJob)
	took time.Duration
}

// dueJob is one job of a workflow.
type dueJob struct {
	at    time.Duration // since the start
	after []int         // jobs of the workflow that must have succeeded
	spec  wire.JobSpec
	as    *client.Client // who submits it, if not the submitter of the others

	id     wire.JobID // once it is submitted
	ended  bool
	status wire.JobStatus // when it has ended
	barred int            // index plus 1 of the job whose failure keeps it from being submitted

	refused error // why the master refuses the job
}

// succeeded reports whether the job has ended well.
func (j *dueJob) succeeded() bool { return j.ended && j.status.State == wire.Succeeded }

// seconds returns how long the job took, from submission to end.
func (j *dueJob) seconds() float64 { return float64(j.status.Ended-j.status.Submitted) / 1000 }

// watchEvery is how often the master is asked which jobs still run.
const watchEvery = 200 * time.Millisecond

// run submits every job in its turn and waits for all.
func (w *workflow) run(ctx context.Context) error {
	begin := time.Now()
	defer func() { w.took = time.Since(begin) }()
	heard := begin // when the master last answered
	for {
		left, wait, err := w.step(ctx, time.Since(begin))
		if err == nil && left == 0 {
			return nil
		}
		if err == nil {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return ctx.Err()
			}
			err = w.look(ctx)
		}
		switch {
		case err == nil:
			heard = time.Now()
		case !wire.KindOf(err).Retryable() || heard.Equal(begin) || time.Since(heard) > launch.DefaultPatience || ctx.Err() != nil:
			return err
		}
	}
}

// step submits the jobs that are due. It returns how many have not ended, and how long to wait until the next step.
func (w *workflow) step(ctx context.Context, now time.Duration) (left int, wait time.Duration, err error) {
	wait = watchEvery
	for i := range w.jobs {
		j := &w.jobs[i]
		if j.ended || j.barred > 0 {
			continue
		}
		left++
		if j.id != "" || !w.free(j) {
			continue
		}
		if j.at > now {
			wait = min(wait, j.at-now)
			continue
		}
		if j.spec.Request == "" { // submitted twice, it is still one job
			j.spec.Request = rand.Text()
		}
		if j.id, err = cmp.Or(j.as, w.cl).Submit(ctx, j.spec); err != nil {
			if !refusal(err) {
				return left, 0, err
			}
			j.ended, j.refused = true, err // the others go on
			left--
		}
		w.say(j)
	}
	return left, wait, nil
}

// refusal reports whether an error is about the job, so that another job may be accepted.
func refusal(err error) bool {
	switch wire.KindOf(err) {
	case wire.Invalid, wire.NotFound, wire.Exists, wire.Denied, wire.Quota, wire.TooLarge:
		return true
	}
	return false
}

// free reports whether the jobs before one have succeeded. It bars a job that can no longer be submitted.
func (w *workflow) free(j *dueJob) bool {
	free := true
	for _, i := range j.after {
		b := &w.jobs[i]
		if b.barred > 0 || b.ended && !b.succeeded() {
			j.barred = i + 1
			w.say(j)
			return false
		}
		free = free && b.ended
	}
	return free
}

func (w *workflow) say(j *dueJob) {
	if w.tell != nil {
		w.tell(j)
	}
}

// look finds out which jobs have ended.
func (w *workflow) look(ctx context.Context) error {
	active, err := w.cl.Active(ctx)
	if err != nil {
		return err
	}
	running := map[wire.JobID]bool{}
	for _, s := range active {
		running[s.Job] = true
	}
	for i := range w.jobs {
		j := &w.jobs[i]
		if j.id == "" || j.ended || running[j.id] {
			continue
		}
		s, err := w.cl.Status(ctx, j.id)
		if err != nil {
			return err
		}
		if s.State.Ended() {
			j.status, j.ended = s, true
			w.say(j)
		}
	}
	return nil
}
