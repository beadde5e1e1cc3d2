package compare

import (
	"encoding/json"
	"math"
	"sort"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// A Summary describes one quantity over the jobs of a run.
type Summary struct {
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

func summarise(x []float64) Summary {
	s := stats.Sorted(x)
	return Summary{stats.Mean(x), stats.Quantile(s, 0.5), stats.Quantile(s, 0.95), stats.Quantile(s, 0.99), stats.Quantile(s, 1)}
}

// V is the variability of slowdown at the 95th percentile (spec/slowdown 2.2).
func (s Summary) V() float64 { return s.P95 / s.Median }

// Metrics are what papers report of a run. Times are in seconds.
type Metrics struct {
	Jobs       int     `json:"jobs"`
	Rejected   int     `json:"rejected"`
	Completion Summary `json:"completion_s"`
	Wait       Summary `json:"wait_s"`
	Execution  Summary `json:"execution_s"`
	Response   Summary `json:"response_ratio"` // completion over execution
	Slowdown   Summary `json:"slowdown"`       // completion over the time alone
	// SlowdownV is the 95th percentile of slowdown over the median.
	SlowdownV  float64 `json:"slowdown_v95"`
	Makespan   float64 `json:"makespan_s"`
	Throughput float64 `json:"jobs_per_hour"`
	// The shares of maps by where they ran.
	NodeLocal   float64 `json:"node_local"`
	RackLocal   float64 `json:"rack_local"`
	Utilisation float64 `json:"utilisation"` // of all slots, until the last job ends
	// Concurrency is the mean number of jobs that have started and not ended.
	Concurrency float64 `json:"concurrency"`
	// WithDeadline counts jobs with a deadline, and Missed those that ended after it.
	WithDeadline int `json:"with_deadline"`
	Missed       int `json:"deadline_misses"`
	// Jain's index of the mean slowdown of queues and of users; 1 is even.
	QueueFairness float64 `json:"queue_fairness"`
	UserFairness  float64 `json:"user_fairness"`
	Killed        int64   `json:"killed"`
}

// Known returns nil for a value that is undefined, such as the mean of nothing: JSON has null for it, but no NaN.
func Known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// MarshalJSON writes null for undefined values: a run may have rejected all of its jobs.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Mean   *float64 `json:"mean"`
		Median *float64 `json:"median"`
		P95    *float64 `json:"p95"`
		P99    *float64 `json:"p99"`
		Max    *float64 `json:"max"`
	}{Known(s.Mean), Known(s.Median), Known(s.P95), Known(s.P99), Known(s.Max)})
}

// MarshalJSON does the same.
func (m Metrics) MarshalJSON() ([]byte, error) {
	type plain Metrics // without this method
	return json.Marshal(struct {
		plain
		SlowdownV     *float64 `json:"slowdown_v95"`
		QueueFairness *float64 `json:"queue_fairness"`
		UserFairness  *float64 `json:"user_fairness"`
	}{plain(m), Known(m.SlowdownV), Known(m.QueueFairness), Known(m.UserFairness)})
}

// Measure computes the metrics of a run. alone is what a job would take by itself;
// slots is the room of the cluster.
func Measure(res *sim.Result, alone func(*sim.JobResult) time.Duration, slots int) Metrics {
	m := Metrics{Jobs: len(res.Jobs), Makespan: res.Makespan.Seconds(), Killed: res.Killed}
	v := values{queues: map[string][]float64{}, users: map[string][]float64{}}
	for i := range res.Jobs {
		j := &res.Jobs[i]
		if j.Failed {
			m.Rejected++
			continue
		}
		v.add(j, max(alone(j), time.Millisecond))
		if d := j.Job.Spec.Deadline; d > 0 {
			m.WithDeadline++
			if j.Finished > d {
				m.Missed++
			}
		}
	}
	m.Completion, m.Wait, m.Execution = summarise(v.completion), summarise(v.wait), summarise(v.execution)
	m.Response, m.Slowdown = summarise(v.response), summarise(v.slowdown)
	m.SlowdownV = m.Slowdown.V()
	m.QueueFairness, m.UserFairness = fairness(v.queues), fairness(v.users)
	if m.Makespan > 0 {
		m.Throughput = 3600 * float64(m.Jobs-m.Rejected) / m.Makespan
		m.Concurrency = stats.Sum(v.execution) / m.Makespan
		m.Utilisation = (res.Busy[scheduler.Map] + res.Busy[scheduler.Reduce]).Seconds() / (m.Makespan * float64(max(slots, 1)))
	}
	maps := float64(max(1, v.local[0]+v.local[1]+v.local[2]))
	m.NodeLocal = float64(v.local[scheduler.NodeLocal]) / maps
	m.RackLocal = float64(v.local[scheduler.RackLocal]) / maps
	return m
}

// values are those of the jobs that ended well.
type values struct {
	completion, wait, execution, response, slowdown []float64
	queues, users                                   map[string][]float64 // slowdown
	local                                           [3]int
}

func (v *values) add(j *sim.JobResult, alone time.Duration) {
	completion, execution := j.Completion().Seconds(), j.Execution().Seconds()
	slow := completion / alone.Seconds()
	v.completion = append(v.completion, completion)
	v.wait = append(v.wait, j.Wait().Seconds())
	v.execution = append(v.execution, execution)
	if execution > 0 {
		v.response = append(v.response, completion/execution)
	}
	v.slowdown = append(v.slowdown, slow)
	s := j.Job.Spec
	v.queues[s.Queue] = append(v.queues[s.Queue], slow)
	v.users[s.User] = append(v.users[s.User], slow)
	for i, n := range j.Local {
		v.local[i] += n
	}
}

// fairness returns Jain's index of the groups' means.
func fairness(groups map[string][]float64) float64 {
	var means []float64
	for _, g := range groups {
		means = append(means, stats.Mean(g))
	}
	sort.Float64s(means) // sums must not depend on the order of the map
	return stats.Jain(means)
}
