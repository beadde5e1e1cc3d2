package master

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"sync"

	"github.com/millrace/millrace/master/tracker"
)

// codeSum takes the place of a script's text in what is written of a job: its SHA-256. The text stands in a record before.
const codeSum = "code_sum"

// mostTexts bounds the texts that are remembered: jobs refer to the last.
const mostTexts = 1000

// texts are those of scripts that records refer to.
type texts struct {
	mu    sync.Mutex
	bySum map[string]string // guarded by mu
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// stored is a record as it is written: a job under a script refers to its text, which may have 64 KiB.
func stored(r *tracker.Record) *tracker.Record {
	text := tracker.ScriptOf(r.Spec)
	if r.Kind != tracker.Submitted || text == "" {
		return r
	}
	return withParams(r, func(params map[string]string) {
		delete(params, tracker.CodeParam)
		params[codeSum] = sumOf(text)
	})
}

// take remembers a text, and gives a job that was read the one that it refers to. Jobs of older masters have it with them. One of which the
// text is gone keeps its sum: a history that lagged behind for longer than the journal reaches back.
func (t *texts) take(r *tracker.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Kind == tracker.Text {
		if t.bySum == nil || len(t.bySum) >= mostTexts {
			t.bySum = map[string]string{}
		}
		t.bySum[sumOf(r.Text)] = r.Text
		return
	}
	if r.Kind != tracker.Submitted || r.Spec == nil || r.Spec.Under == nil {
		return
	}
	text, known := t.bySum[r.Spec.Under.Policy.Params[codeSum]]
	if !known {
		return
	}
	*r = *withParams(r, func(params map[string]string) {
		delete(params, codeSum)
		params[tracker.CodeParam] = text
	})
}

// withParams is a record with other parameters of the policy that its job came under. What the record shares with others stays.
func withParams(r *tracker.Record, change func(map[string]string)) *tracker.Record {
	out, spec, under := *r, *r.Spec, *r.Spec.Under
	under.Policy.Params = maps.Clone(under.Policy.Params)
	change(under.Policy.Params)
	spec.Under, out.Spec = &under, &spec
	return &out
}
