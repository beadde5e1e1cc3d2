package worker

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// taskLog serves what an attempt has printed. The master asks, on behalf of users who may read it.
func (w *Worker) taskLog(_ context.Context, _ rpc.Caller, r wire.LogRequest) (wire.Log, error) {
	w.mu.Lock()
	_, runs := w.runs[r.ID]
	w.mu.Unlock()
	out, err := w.logs.read(r)
	out.Open = runs
	return out, err
}

// sweepLogs is how often to look for old logs.
const sweepLogs = 10 * time.Minute

// logSweeper removes logs and shipped files that are too old, or exceed their limit.
func (w *Worker) logSweeper() {
	t := time.NewTicker(sweepLogs)
	defer t.Stop()
	for {
		if err := w.logs.sweep(time.Now(), w.cfg.LogAge, w.cfg.LogBytes, w.jobRuns); err != nil {
			w.cfg.Log.Warn("old logs cannot be removed", "error", err)
		}
		if err := w.shipped.sweep(time.Now(), shippedBytes); err != nil {
			w.cfg.Log.Warn("old shipped files cannot be removed", "error", err)
		}
		select {
		case <-t.C:
		case <-w.ctx.Done():
			return
		}
	}
}

// keptLogs are the logs of one job.
type keptLogs struct {
	job   string
	bytes int64
	last  time.Time // of a change
}

// sweep removes the logs of jobs that have been silent for longer than age, and then the oldest until at most
// most bytes are left. It keeps those of running jobs.
func (s *logStore) sweep(now time.Time, age time.Duration, most int64, runs func(job wire.JobID) bool) error {
	list, err := s.list()
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b keptLogs) int { return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.job, b.job)) })
	total := int64(0)
	for _, k := range list {
		total += k.bytes
	}
	for _, k := range list {
		if (age <= 0 || now.Sub(k.last) <= age) && (most <= 0 || total <= most) {
			continue
		}
		if job := wire.JobID(k.job); runs(job) || s.busy(job) {
			continue
		}
		if err := s.root.RemoveAll(k.job); err != nil {
			return err
		}
		total -= k.bytes
	}
	return nil
}

func (s *logStore) busy(job wire.JobID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inside[job] != nil
}

func (s *logStore) list() ([]keptLogs, error) {
	var out []keptLogs
	at := map[string]int{}
	err := fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // just removed
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		job := path.Dir(name)
		i, ok := at[job]
		if !ok {
			i = len(out)
			at[job] = i
			out = append(out, keptLogs{job: job})
		}
		out[i].bytes += info.Size()
		if info.ModTime().After(out[i].last) {
			out[i].last = info.ModTime()
		}
		return nil
	})
	return slices.DeleteFunc(out, func(k keptLogs) bool { return !jobName().MatchString(k.job) }), err
}
