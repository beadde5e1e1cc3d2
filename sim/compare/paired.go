package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/stats"
)

// pairedRows are the quantities that are compared seed by seed.
var pairedRows = []string{"mean completion, s", "mean slowdown", "95th percentile of slowdown", "makespan, s"}

// Paired compares each policy with the first, seed by seed. Both had the same jobs, so the difference does not contain
// what makes one seed harder than another, and a small advantage shows with few repetitions. The table has no rows
// unless two policies share two seeds.
func Paired(runs []Run) Table {
	names, by := grouped(runs)
	t := Table{Head: []string{""}}
	if len(names) < 2 {
		return t
	}
	t.Title = "Difference from " + names[0] + ", seed by seed: mean and 95 % interval"
	t.Head = append(t.Head, names[1:]...)
	for _, row := range metricRows {
		if !slices.Contains(pairedRows, row.name) {
			continue
		}
		cells := []string{row.name}
		for _, n := range names[1:] {
			e := stats.NewEstimate(differences(by[names[0]], by[n], row.of))
			if e.N < 2 {
				return Table{Head: t.Head}
			}
			cells = append(cells, fmt.Sprintf("%s (%s to %s): %s", signed(e.Mean), signed(e.Low), signed(e.High), verdict(e)))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// differences returns the differences for the seeds that both have.
func differences(base, other []Run, of func(Metrics) float64) (out []float64) {
	for _, b := range base {
		for _, o := range other {
			if o.Seed == b.Seed {
				out = append(out, of(o.Metrics)-of(b.Metrics))
			}
		}
	}
	return out
}

// verdict says what an interval of differences means; less is better in every row.
func verdict(e stats.Estimate) string {
	switch {
	case e.High < 0:
		return "better"
	case e.Low > 0:
		return "worse"
	}
	return "no difference shown"
}

func signed(f float64) string {
	if f > 0 {
		return "+" + stats.Text(f)
	}
	return stats.Text(f)
}

// Policies that differ by less than alike, on a cluster that is used less than idles, cannot be told apart by it.
const (
	alike = 0.01
	idles = 0.5
	busy  = 0.9 // a load at which jobs wait for each other
)

// TurnedAway names the policies that rejected jobs: their figures are of the other jobs, and cannot be compared with
// other policies' figures. It returns "" if no policy did.
func TurnedAway(runs []Run) string {
	var all []string
	names, by := grouped(runs)
	for _, n := range names {
		jobs, away := 0, 0
		for _, r := range by[n] {
			jobs, away = jobs+r.Metrics.Jobs, away+r.Metrics.Rejected
		}
		if away > 0 {
			all = append(all, fmt.Sprintf("%s turned %d of %d jobs away: its figures are of the others, and do not compare.", n, away, jobs))
		}
	}
	return strings.Join(all, "\n")
}

// Idle says which load would tell the policies apart if they cannot be told apart because nobody waits; else "".
func Idle(runs []Run) string {
	names, by := grouped(runs)
	if len(names) < 2 {
		return ""
	}
	low, high, used := math.Inf(1), 0.0, 0.0
	for _, n := range names {
		mean := estimateOver(by[n], func(m Metrics) float64 { return m.Completion.Mean }).Mean
		low, high = min(low, mean), max(high, mean)
		used = max(used, estimateOver(by[n], func(m Metrics) float64 { return m.Utilisation }).Mean)
	}
	if used <= 0 || used >= idles || low <= 0 || high/low-1 > alike {
		return ""
	}
	return fmt.Sprintf("The policies differ by %.1f %% in mean completion because the cluster idles: %.1f %% of its capacity is in use, and jobs hardly wait. "+
		"At a load of %g (jobs come about %.0f times as often) they would wait for each other, and the policies could be told apart.",
		100*(high/low-1), 100*used, busy, math.Ceil(busy/used))
}
