package integration

import (
	"encoding/json"
	"os/exec"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// TestLiveLaboratories runs short forms of the laboratories on clusters of processes, one after the other: for the policy that
// each is about, the jobs that it is good for take a smaller part of the time of the others than under the one that it is compared
// with, live as in the simulator; a busy machine makes both longer. Where all jobs are alike, they take less time. The first runs
// always, some with MILLRACE_FAULTS, and with MILLRACE_STRESS all with all their quick arms.
func TestLiveLaboratories(t *testing.T) {
	t.Parallel()
	for _, l := range []struct{ id, better, worse string }{
		{"small-jobs", "fair", "fifo"},
		{"deadlines", "deadline-max", "fifo"},
		{"queues", "capacity", "fifo"},
		{"users", "user limit 100", "user limit 25"}, // for who came first
		{"marp-curve", "cbt", "marp 0.1"},            // the controller climbs the curve from where the other stays
		{"locality", "delay", "fair"},
		{"batches", "corral", "fair"},
		{"two-classes", "hybrid", "fair"},
		{"narrow-links", "nas", "fair"},
		{"circuits", "jobpacker", "fair"},
		{"ad-hoc", "", ""},
		{"nas-parts", "", ""},
		{"table-ii", "", ""},
		{"four-deadline-jobs", "deadline-max", "fair"},
		{"six-terasorts", "two", "one by one"},
	} {
		t.Run(l.id, func(t *testing.T) {
			switch l.id {
			case "small-jobs":
			case "deadlines", "queues", "users", "locality", "batches":
				require.Faults(t) // with the long tests of live clusters
			default:
				require.Stress(t) // the longest of them
			}
			args := []string{"lab", "run", "--live", "--quick", "--json", l.id}
			if !require.Stressed() {
				args = append(args, "--arms", l.better+","+l.worse)
			}
			out, err := exec.Command(millrace, args...).Output()
			var r struct {
				Rows []struct {
					Arm, Unit string
					Simulated float64
					Live      []float64
				}
				Agrees      bool
				MedianError float64 `json:"median_error"`
			}
			if err != nil || json.Unmarshal(out, &r) != nil {
				t.Fatalf("%s: %v", out, err)
			}
			allowed := 0.3
			if r.Rows[1].Unit != "s" {
				allowed = 0.6 // on full links a little luck in placement goes far
			}
			part := map[string][2]float64{} // by arm: its first measure by its second, simulated and live
			for i, row := range r.Rows {
				if _, known := part[row.Arm]; !known {
					next := r.Rows[i+1]
					if next.Unit != "s" || slices.Contains([]string{"marp-curve", "six-terasorts"}, l.id) { // all jobs are alike
						next.Simulated, next.Live = 1, []float64{1}
					}
					part[row.Arm] = [2]float64{row.Simulated / next.Simulated, row.Live[0] / next.Live[0]}
				}
			}
			t.Logf("simulated and live %v; off by %.1f %% in the median; agrees: %v", part, 100*r.MedianError, r.Agrees)
			if b, w := part[l.better], part[l.worse]; l.better != "" && !(b[0] < w[0] && b[1] < w[1]) || r.MedianError > allowed {
				t.Errorf("%s has %v and %s %v, simulated and live; off by %.1f %%", l.better, b, l.worse, w, 100*r.MedianError)
			}
		})
	}
}
