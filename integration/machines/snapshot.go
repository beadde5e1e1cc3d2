package machines

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler"
)

func (w *World) keep(records []tracker.Record) {
	w.journal, w.all = append(w.journal, records...), append(w.all, records...)
}

func replay(c *tracker.Tracker, records []tracker.Record) {
	for i := range records {
		r := records[i]
		c.Replay(&r)
	}
}

// snapshot replaces the journal by the tracker's snapshot, as it would be read again. Everything that the tracker has
// recorded must be on disk.
func (w *World) snapshot(c *tracker.Tracker) {
	w.Snapshots++
	w.journal = nil
	for _, r := range c.Snapshot(w.now) {
		b, err := json.Marshal(&r)
		var back tracker.Record
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil {
			w.fail("snapshot: %v", err)
		}
		w.journal = append(w.journal, back)
	}
	w.trace("snapshot of %d records stands for %d", len(w.journal), len(w.all))
}

// compare compares a master restored from a snapshot and what followed it with one that has read every record.
func (w *World) compare(got *tracker.Tracker, cfg tracker.Config) {
	want, err := tracker.New(cfg, w.cfg.Policy(), nil)
	if err != nil {
		w.fail("master: %v", err)
		return
	}
	replay(want, w.all)
	want.Resume(w.now)
	if a, b := w.observe(got), w.observe(want); !slices.Equal(a, b) {
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				w.fail("from the snapshot:\n  %s\nfrom all records:\n  %s", a[i], b[i])
				return
			}
		}
		w.fail("from the snapshot %d things can be seen, from all records %d", len(a), len(b))
	}
}

// observe returns all that can be asked of a master.
func (w *World) observe(c *tracker.Tracker) (out []string) {
	say := func(v any) {
		b, err := json.Marshal(v)
		out = append(out, fmt.Sprintf("%s %v", b, err))
	}
	say(c.Jobs())
	for _, id := range w.ids {
		s, err := c.Status(id)
		say(s)
		say(fmt.Sprint(err))
		for stage := range max(1, s.Stages) {
			ref := wire.StageRef{Job: id, Stage: stage}
			info, err := c.StageInfo(ref)
			say(info)
			say(fmt.Sprint(err))
			say(c.Outputs(wire.OutputsRequest{StageRef: ref}))
		}
	}
	for sid := range scheduler.JobID(4 * len(w.ids)) {
		if j := c.View().Job(sid); j != nil {
			say([]int32{int32(sid), j.Pending(scheduler.Map), j.Pending(scheduler.Reduce)})
			for i := range int32(w.cfg.MapsPerJob) {
				say([]any{j.TaskState(scheduler.Map, i), j.SplitBytes(i)})
			}
		}
	}
	return out
}
