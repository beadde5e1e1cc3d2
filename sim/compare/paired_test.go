package compare

import (
	"strings"
	"testing"
)

func runOf(policy string, seed uint64, completion, used float64) Run {
	return Run{Policy: policy, Seed: seed, Metrics: Metrics{Completion: Summary{Mean: completion}, Utilisation: used}}
}

// A difference of one second is lost between seeds that differ by a hundred, and found seed by seed.
func TestPairedFindsWhatMeansHide(t *testing.T) {
	var runs []Run
	for seed, harder := range []float64{0, 100, 40, 250, 10} {
		runs = append(runs, runOf("fair", uint64(seed), 100+harder, 0.9), runOf("mine", uint64(seed), 99+harder+0.1*float64(seed%2), 0.9), runOf("same", uint64(seed), 100+harder+float64(seed%3)-1, 0.9))
	}
	table := Paired(runs)
	if len(table.Rows) != 4 || len(table.Head) != 3 || !strings.Contains(table.Title, "from fair") {
		t.Fatalf("%+v", table)
	}
	if row := table.Rows[0]; !strings.HasPrefix(row[1], "-0.96") || !strings.HasSuffix(row[1], ": better") || !strings.HasSuffix(row[2], ": no difference shown") {
		t.Errorf("%q", row)
	}
	if lonely := Paired(runs[:3]); len(lonely.Rows) != 0 {
		t.Errorf("one seed is no pair: %v", lonely.Rows)
	}
	for i := range runs { // seeds that nobody shares
		if runs[i].Policy == "mine" {
			runs[i].Seed += 100
		}
	}
	if apart := Paired(runs); len(apart.Rows) != 0 {
		t.Errorf("no seed is shared: %v", apart.Rows)
	}
}

// The hint comes when nobody waits, and only then.
func TestIdle(t *testing.T) {
	for _, c := range []struct {
		name        string
		a, b, used  float64
		hints       bool
		policiesToo string
	}{
		{"idle and alike", 100, 100.5, 0.1, true, "b"},
		{"idle and different", 100, 110, 0.1, false, "b"},
		{"busy and alike", 100, 100.5, 0.8, false, "b"},
		{"nothing ran", 100, 100, 0, false, "b"},
		{"no time", 0, 0, 0.1, false, "b"},
		{"one policy", 100, 100, 0.1, false, "a"},
	} {
		got := Idle([]Run{runOf("a", 1, c.a, c.used), runOf(c.policiesToo, 1, c.b, c.used)})
		if (got != "") != c.hints {
			t.Errorf("%s: %q", c.name, got)
		}
		if c.hints && (!strings.Contains(got, "differ by 0.5 %") || !strings.Contains(got, "load of 0.9 (jobs come about 9 times as often)")) {
			t.Error(got)
		}
	}
}
