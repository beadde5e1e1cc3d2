package jobpacker

import (
	"errors"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/trace"
)

// traceRow is what the specification counted in a trace.
type traceRow struct {
	file                    string
	jobs, heavy             float64
	recall, precise, volume float64 // per cent
}

// traceFacts is spec/jobpacker 5, item 5: the table of 4.1 there.
func traceFacts(r *lab.Recorder) {
	shares := chart.Bars{
		Frame:  chart.Frame{Title: "Heavy jobs of four traces", X: chart.Axis{Label: "% of the trace"}},
		Groups: []string{"share of the jobs", "share of the shuffle bytes"}, Reference: "counted before",
	}
	for _, row := range []traceRow{
		{"FB-2009_samples_24_times_1hr_0.tsv", 5894, 338, 84.9, 54.7, 99.5},
		{"FB-2009_samples_24_times_1hr_1.tsv", 6638, 409, 77.5, 41.2, 99.3},
		{lab.FBDay, 24_442, 2194, 96.4, 31.7, 99.8},
		{"FB-2010_samples_24_times_1hr_withInputPaths_0.tsv", 25_428, 2322, 94.9, 30.5, 99.8},
	} {
		jobs, err := lab.PublicTrace(row.file)
		if errors.Is(err, lab.ErrNoTraces) {
			r.Check(lab.Reported("5: "+row.file, stats.Text(row.jobs)+" jobs", "the trace is not here").Accept("exact").Because("to count it, set MILLRACE_TRACES to the directory that holds the traces"))
			continue
		}
		r.Must(err)
		shares.Bars = append(shares.Bars, traceFact(r, row, jobs)...)
	}
	if len(shares.Bars) > 0 {
		r.Figure("heavy", shares)
	}
}

// traceFact counts one trace, checks the counts and draws them.
func traceFact(r *lab.Recorder, row traceRow, jobs []trace.Job) []chart.Bar {
	var heavy, large, both, bytes, heavyBytes float64
	for _, j := range jobs {
		isHeavy, isLarge := j.ShuffleBytes >= simulated.threshold, j.InputBytes > 1e9
		bytes += float64(j.ShuffleBytes)
		if isHeavy {
			heavy++
			heavyBytes += float64(j.ShuffleBytes)
		}
		if isLarge {
			large++
		}
		if isHeavy && isLarge {
			both++
		}
	}
	in := "in " + row.file
	counted := func(v float64) lab.Said {
		return lab.Nobody("nothing; " + stats.Text(v) + " in our specification's count")
	}
	r.Check(lab.Within("5: jobs in "+row.file, float64(len(jobs)), row.jobs, 0).Quoted(counted(row.jobs)))
	r.Check(lab.Within("5: heavy jobs", heavy, row.heavy, 0).Because(in).Shown("%.0f", heavy).Quoted(counted(row.heavy)))
	r.Check(lab.Within("5: recall of the 1 GB rule, %", 100*both/heavy, row.recall, 0.05).Because(in).Quoted(counted(row.recall)))
	r.Check(lab.Within("5: precision of the rule, %", 100*both/large, row.precise, 0.05).Because(in).Quoted(counted(row.precise)))
	r.Check(lab.Within("5: share of shuffle bytes, %", 100*heavyBytes/bytes, row.volume, 0.05).Because(in + ", that of the heavy jobs").Quoted(counted(row.volume)))
	name, _, _ := strings.Cut(row.file, "_samples")
	if _, end, ok := strings.Cut(row.file, "1hr_"); ok {
		name += ", " + strings.TrimSuffix(end, ".tsv")
	}
	return []chart.Bar{chart.Plain(name, 100*heavy/float64(len(jobs))).Beside(100 * row.heavy / row.jobs), chart.Plain(name, 100*heavyBytes/bytes).Beside(row.volume).In(1)}
}
