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

// workflow is jobs on their way through a cluster: each is handed in when its time has come and those before it have succeeded.
type workflow struct {
	cl   *client.Client
	jobs []dueJob
	// tell, if set, hears of each job that was handed in, has ended, or never will be handed in.
	tell func(j *dueJob)
	took time.Duration
}

// dueJob is one job of a workflow.
type dueJob struct {
	at    time.Duration // since the start
	after []int         // jobs of the workflow that must have succeeded
	spec  wire.JobSpec
	as    *client.Client // who hands it in, if not who hands in the others

	id     wire.JobID // once it is handed in
	ended  bool
	status wire.JobStatus // when it has ended
	barred int            // 1 above the job whose failure keeps it from being handed in

	refused error // what the master says of a job that it does not take
}

// succeeded reports whether it has ended well.
func (j *dueJob) succeeded() bool { return j.ended && j.status.State == wire.Succeeded }

// seconds is how long it took, from submission to end.
func (j *dueJob) seconds() float64 { return float64(j.status.Ended-j.status.Submitted) / 1000 }

// watchEvery is how often the master is asked which jobs still run.
const watchEvery = 200 * time.Millisecond

// run hands in every job in its turn and waits for all.
func (w *workflow) run(ctx context.Context) error {
	begin := time.Now()
	defer func() { w.took = time.Since(begin) }()
	heard := begin // when the master answered last
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

// step hands in what is due. It returns how many jobs have not ended, and how long nothing need be done.
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
		if j.spec.Request == "" { // handed in twice it is one job
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

// refusal reports whether an error is about the job: another job may be taken.
func refusal(err error) bool {
	switch wire.KindOf(err) {
	case wire.Invalid, wire.NotFound, wire.Exists, wire.Denied, wire.Quota, wire.TooLarge:
		return true
	}
	return false
}

// free reports whether the jobs before one have succeeded. One that cannot be handed in any more is barred.
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
