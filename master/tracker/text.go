package tracker

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// ScriptOf returns the text of the script that a job ran under, or "" if there was none.
func ScriptOf(spec *wire.JobSpec) string {
	if spec == nil || spec.Under == nil || spec.Under.Policy.Name != scheduler.ScriptName {
		return ""
	}
	return spec.Under.Policy.Params[wire.CodeParam]
}

// appendText adds the text that a job refers to, unless the job before it has the same: a job's record refers to the
// last text before it.
func appendText(out []Record, at time.Duration, before *job, spec *wire.JobSpec) []Record {
	text := ScriptOf(spec)
	if text == "" || before != nil && ScriptOf(&before.spec) == text {
		return out
	}
	return append(out, Record{At: at, Kind: Text, Text: text})
}
