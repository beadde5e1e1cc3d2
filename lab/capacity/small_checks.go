package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/capacity"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

const (
	halves = "q1=50,q2=50"
	tenth  = "q1=90,q2=10"
	thirds = "q1=33,q2=33,q3=34"
	whole  = "q1=100"
)

// smallPublished is the last queue's makespan on the real cluster, s.
var smallPublished = []struct {
	name, label string
	makespan    float64
}{
	{"50-50", "50-50", 1127},
	{"50-50 cap", "50-50, caps", 1161},
	{"90-10", "90-10", 1921},
	{"90-10 cap", "90-10, caps", 2195},
	{"3x33", "three queues of a third", 1939},
	{"ulf 1", "90-10, 2 reduces, factor 1", 1899},
	{"ulf 2", "90-10, 2 reduces, factor 2", 1249},
	{"mulp 100", "one queue, MULP 100", 1388},
	{"mulp 25", "one queue, MULP 25", 1671},
	{"mulp 25 5", "one queue, MULP 25, 5 reduces", 691},
	{"tasks 100", "50-50, 100 active tasks", 1852},
	{"tasks 160", "50-50, 160 active tasks", 1302},
}

// orderings checks the orderings of Table 5.1 (spec/capacity 6, item 12).
func orderings(r *lab.Recorder) {
	n := r.Seeds(5, 5)
	w := &compare.Watcher{Keys: []string{"map", "reduce"}, Of: compare.ByKind, KeepSpans: true}
	cases := map[string]smallCluster{
		"50-50":     {queues: halves, users: 3, watch: w},
		"90-10":     {queues: tenth, users: 3},
		"3x33":      {queues: thirds, users: 3},
		"50-50 cap": {queues: halves, users: 3, params: map[string]string{"max-capacity": halves}},
		"90-10 cap": {queues: tenth, users: 3, params: map[string]string{"max-capacity": tenth}},
		"ulf 1":     {queues: tenth, users: 3, reduces: 2},
		"ulf 2":     {queues: tenth, users: 3, reduces: 2, params: map[string]string{"user-limit-factor": "*=2"}},
		"mulp 100":  {queues: whole, users: 4, together: true},
		"mulp 25":   {queues: whole, users: 4, together: true, params: map[string]string{"user-limit": "*=25"}},
		"mulp 25 5": {queues: whole, users: 4, together: true, reduces: 5, params: map[string]string{"user-limit": "*=25"}},
		"tasks 100": {queues: halves, users: 3, init: map[string]string{"max-tasks": "*=100", "max-tasks-per-user": "*=80"}},
		"tasks 160": {queues: halves, users: 3, init: map[string]string{"max-tasks": "*=160", "max-tasks-per-user": "*=80"}},
	}
	got, seen := map[string]smallMean{}, map[string][]*sim.Result{}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		got[name], seen[name] = smallRuns(r, cases[name], n)
	}
	smallChecks(r, got)
	priority(r)
	end := seen["50-50"][0].Makespan
	r.Figure("gantt", w.Gantt("Tasks by node, one run", 0, end))
}

func smallChecks(r *lab.Recorder, got map[string]smallMean) {
	q := func(name, queue string) float64 { return got[name].makespan[queue] }
	near := func(item string, measured, published float64) { // a quarter of the effect is accepted
		r.Check(lab.Within(item, measured, published, math.Abs(published-1)/4).SameSide(1).Late().Missed(r.Say("other machines")))
	}
	near("12: 90-10, makespan of Q2 / Q1", q("90-10", "q2")/q("90-10", "q1"), 1.70)
	near("12: three queues / two queues, makespan", got["3x33"].longest/got["50-50"].longest, 1.65)
	near("12: 90-10 with 2 reduces, makespan of Q2, user limit factor 2 / 1", q("ulf 2", "q2")/q("ulf 1", "q2"), 0.66)
	near("12: 90-10, makespan of Q2, with a cap / without", q("90-10 cap", "q2")/q("90-10", "q2"), 1.14)
	r.Check(lab.Between("12: 50-50, cap changes the makespan, factor", lab.Number("1.02 to 1.03"), got["50-50 cap"].longest/got["50-50"].longest, 0.9, 1.1).Because("accepted: less than 10 % in either direction"))
	r.Check(lab.AtMost("12: MULP 25 / 100, longest wait", lab.Sign("falls"), got["mulp 25"].maxWait/got["mulp 100"].maxWait, 1).Because(r.Say("all four")))
	near("12: MULP 25 / 100, makespan", got["mulp 25"].longest/got["mulp 100"].longest, 1.20)
	near("12: 5 reduces / 1 at MULP 25, makespan", got["mulp 25 5"].longest/got["mulp 25"].longest, 0.41)
	near("12: active tasks 160 / 100, makespan", got["tasks 160"].longest/got["tasks 100"].longest, 0.715)
	bars := chart.Bars{Frame: chart.Frame{Title: "Makespan of the last queue", X: chart.Axis{Label: "s"}}}
	for _, c := range smallPublished {
		bars.Bars = append(bars.Bars, chart.Plain(c.label, got[c.name].longest).Beside(c.makespan))
	}
	r.Figure("makespan", bars)
}

// priority is spec/capacity 6, item 13: one queue, three jobs, with and without priorities.
func priority(r *lab.Recorder) {
	for _, c := range []struct {
		on, what string
		order    []int
	}{{"*=1", "with priorities", []int{2, 1, 0}}, {"*=0", "without", []int{0, 1, 2}}} {
		_, runs := smallRuns(r, smallCluster{
			queues: whole, users: 3, params: map[string]string{"priority": c.on},
			priorities: []scheduler.Priority{scheduler.VeryLow, scheduler.Normal, scheduler.VeryHigh},
		}, 1)
		order := []int{0, 1, 2}
		slices.SortFunc(order, func(a, b int) int { return int(runs[0].Jobs[a].MapsDone - runs[0].Jobs[b].MapsDone) })
		names := []string{"Sort (very low)", "TeraSort (normal)", "WordCount (very high)"}
		r.Check(lab.Holds("13: map phases end in the expected order, "+c.what, lab.Order(names[c.order[0]]+" first, "+names[c.order[1]]+" second"), names[order[0]]+" first, "+names[order[1]]+" second", slices.Equal(order, c.order) && runs[0].Killed == 0, "this order, and no running task is killed").Because("one queue, jobs submitted as Sort, TeraSort, WordCount"))
	}
}

// arithmetic is spec/capacity 6, items 10 and 11.
func arithmetic(r *lab.Recorder) {
	n := r.Seeds(3, 1)
	for _, c := range []struct {
		what                  string
		slots, used, users, s int32
		percent, factor       float64
		want                  int32
	}{
		{"60 slots, MULP 100, factor 1", 60, 0, 1, 1, 100, 1, 60},
		{"60 slots, factor 2, 60 in use", 60, 60, 1, 1, 100, 2, 61},
		{"60 slots, MULP 25, 1 user", 60, 0, 1, 1, 25, 1, 60},
		{"60 slots, MULP 25, 2 users", 60, 0, 2, 1, 25, 1, 30},
		{"60 slots, MULP 25, 3 users", 60, 0, 3, 1, 25, 1, 20},
		{"60 slots, MULP 25, 4 users", 60, 0, 4, 1, 25, 1, 15},
		{"60 slots, MULP 25, 50 users", 60, 0, 50, 1, 25, 1, 15},
		{"1 slot, factor 1", 1, 0, 1, 1, 100, 1, 1},
		{"1 slot, factor 2, 1 in use", 1, 1, 1, 1, 100, 2, 2},
		{"no slot", 0, 0, 1, 1, 100, 1, 1},
	} {
		got := capacity.UserLimit(c.slots, c.used, c.users, c.s, c.percent, c.factor)
		r.Check(lab.Holds("10: "+c.what, lab.Nobody(human.Many(int64(c.want), "slot")), human.Many(int64(got), "slot"), got == c.want, "exactly"))
	}
	initLimits(r, n)
}

func initLimits(r *lab.Recorder, n int) {
	waits, names := map[string]float64{}, []string{}
	for _, c := range []struct {
		what string
		init map[string]string
		want int
	}{
		{"maximum-system-jobs 2", map[string]string{"max-system-jobs": "2"}, 1},
		{"maximum-system-jobs 4", map[string]string{"max-system-jobs": "4"}, 2},
		{"no limit", nil, 3},
		{"100 active tasks, jobs of 76", map[string]string{"max-tasks": "*=100", "max-tasks-per-user": "*=80"}, 1},
		{"160 active tasks, jobs of 76", map[string]string{"max-tasks": "*=160", "max-tasks-per-user": "*=80"}, 2},
	} {
		m, _ := smallRuns(r, smallCluster{queues: halves, users: 3, init: c.init}, n)
		waits[c.what], names = m.meanWait, append(names, c.what)
		said := lab.Number(human.Many(int64(c.want), "job"))
		if c.init == nil {
			said = lab.Nobody("nothing; all three jobs of the queue")
		}
		r.Check(lab.Holds("11: most jobs of a queue at once, "+c.what, said, human.Many(int64(m.atOnce), "job"), m.atOnce == c.want, "exactly"))
	}
	two, four, none := waits["maximum-system-jobs 2"], waits["maximum-system-jobs 4"], waits["no limit"]
	r.Check(lab.Holds("11: mean wait, maximum-system-jobs 2 > 4 > none, s", lab.Sign("falls"), fmt.Sprintf("%s, %s, %s for 2, 4, none", stats.Text(two), stats.Text(four), stats.Text(none)), two > four && four > none, "falls at each step"))
	drawLimits(r, names, waits)
	_, runs := smallRuns(r, smallCluster{queues: whole, users: 1, reduces: 6, init: map[string]string{"max-tasks-per-user": "*=80"}}, 1)
	r.Check(lab.Holds("11: a job of 81 tasks with a limit of 80 a user", lab.Order("rejected"), map[bool]string{true: "rejected", false: "accepted"}[runs[0].Jobs[0].Failed], runs[0].Jobs[0].Failed, "rejected when submitted"))
}
