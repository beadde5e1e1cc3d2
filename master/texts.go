package master

import (
	"sync"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// mostTexts bounds the texts that are remembered: jobs refer to the most recent ones.
const mostTexts = 1000

// texts are the scripts' texts that records refer to.
type texts struct {
	mu    sync.Mutex // guards bySum
	bySum map[string]string
}

// stored returns a record as it is written: a job under a script refers to its text, which is in an earlier record.
func stored(r *tracker.Record) *tracker.Record {
	if r.Kind != tracker.Submitted || tracker.ScriptOf(r.Spec) == "" {
		return r
	}
	under, _ := r.Spec.Under.Refer()
	return withUnder(r, under)
}

// take remembers a text, and restores the text that a job's record refers to. Records of older masters contain their
// text. If the text is gone, the job keeps its sum: that happens when the history lags behind for longer than the
// journal reaches back.
func (t *texts) take(r *tracker.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Kind == tracker.Text {
		if t.bySum == nil || len(t.bySum) >= mostTexts {
			t.bySum = map[string]string{}
		}
		t.bySum[wire.SumOf(r.Text)] = r.Text
		return
	}
	if r.Kind != tracker.Submitted || r.Spec == nil {
		return
	}
	*r = *withUnder(r, r.Spec.Under.Restore(func(sum string) string { return t.bySum[sum] }))
}

// withUnder returns a copy of a record with other policies. What the record shares with others stays unchanged.
func withUnder(r *tracker.Record, under *wire.Policies) *tracker.Record {
	out, spec := *r, *r.Spec
	spec.Under, out.Spec = under, &spec
	return &out
}
