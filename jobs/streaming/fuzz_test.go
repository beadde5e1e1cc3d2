package streaming

import (
	"bytes"
	"io"
	"testing"

	"github.com/millrace/millrace/mapreduce"
)

// Whatever a command prints, its log stays bounded.
func FuzzReporter(f *testing.F) {
	f.Add([]byte("reporter:counter:a,b,1\nreporter:status:going\nlog\n"))
	f.Add([]byte("reporter:counter:,,9223372036854775807\n"))
	f.Add(bytes.Repeat([]byte("x"), 3*maxReportLine))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &reporter{task: newAttempt(t.Context(), mapreduce.TaskInfo{}).Task, stop: func() {}}
		r.read(io.NopCloser(bytes.NewReader(b)))
		if len(r.last) > 2*keepLog+maxReportLine {
			t.Errorf("%d bytes of log", len(r.last))
		}
	})
}
