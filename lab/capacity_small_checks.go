package lab

import (
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/capacity"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

var (
	halves = map[string]int{"q1": 50, "q2": 50}
	tenth  = map[string]int{"q1": 90, "q2": 10}
	thirds = map[string]int{"q1": 33, "q2": 33, "q3": 34}
	whole  = map[string]int{"q1": 100}
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

// capacitySmall checks the orderings of Table 5.1.
func capacitySmall(r *Recorder) error {
	n := r.seeds(5, 3)
	w := &Watcher{Keys: []string{"map", "reduce"}, Of: byKind, KeepSpans: true}
	cases := map[string]smallCluster{
		"50-50":     {queues: halves, users: 3, watch: w},
		"90-10":     {queues: tenth, users: 3},
		"3x33":      {queues: thirds, users: 3},
		"50-50 cap": {queues: halves, users: 3, params: map[string]string{"max-capacity": "q1=50,q2=50"}},
		"90-10 cap": {queues: tenth, users: 3, params: map[string]string{"max-capacity": "q1=90,q2=10"}},
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
		var err error
		if got[name], seen[name], err = r.small(cases[name], n); err != nil {
			return err
		}
	}
	smallChecks(r, got)
	if err := capacityPriority(r); err != nil {
		return err
	}
	topo, err := topology.Uniform(1, smallNodes, 0, 0)
	if err != nil {
		return err
	}
	end := seen["50-50"][0].Makespan
	r.figure("gantt", "Two queues of 50 %, a row for each slot in use. The long bars are the reduces, which wait for the last map. Tooltips count jobs from 0.", w.Gantt("Tasks by node, one run", topo, 0, end))
	return nil
}

func smallChecks(r *Recorder, got map[string]smallMean) {
	q := func(name, queue string) float64 { return got[name].makespan[queue] }
	r.between("12: 90-10, makespan of Q2 / Q1", "1.70", q("90-10", "q2")/q("90-10", "q1"), 1.4, inf, "")
	r.mark(1.70)
	r.between("12: three queues / two queues, makespan", "1.6 to 1.7", got["3x33"].longest/got["50-50"].longest, 1.2, 1.9, "")
	r.between("12: 90-10 with 2 reduces, user limit factor 1 -> 2 cuts Q2's makespan, %", "34", 100*(1-q("ulf 2", "q2")/q("ulf 1", "q2")), 20, inf, "")
	r.mark(34)
	r.between("12: 90-10, cap raises Q2's makespan, factor", "1.14", q("90-10 cap", "q2")/q("90-10", "q2"), 1, inf, "")
	r.mark(1.14)
	r.between("12: 50-50, cap changes the makespan, factor", "1.02 to 1.03", got["50-50 cap"].longest/got["50-50"].longest, 0.9, 1.1, "accepted: less than 10 % in either direction")
	r.between("12: MULP 25 / 100, longest wait", "falls", got["mulp 25"].maxWait/got["mulp 100"].maxWait, 0, 1, "four users on one queue: at MULP 25 all four start at once, so that hardly anybody waits")
	r.between("12: MULP 25 / 100, makespan", "1.20", got["mulp 25"].longest/got["mulp 100"].longest, 1, inf, "accepted: it does not fall")
	r.mark(1.20)
	r.between("12: 5 reduces / 1 at MULP 25, makespan", "0.41", got["mulp 25 5"].longest/got["mulp 25"].longest, 0, 0.8, "")
	r.mark(0.41)
	r.between("12: active tasks 160 / 100, makespan", "0.68 to 0.75", got["tasks 160"].longest/got["tasks 100"].longest, 0, 0.99, "accepted: shorter")
	bars := chart.Bars{Frame: chart.Frame{Title: "Makespan of the last queue", X: chart.Axis{Label: "s"}}}
	for _, c := range smallPublished {
		b := chart.Plain(c.label, got[c.name].longest)
		b.Published = c.makespan
		bars.Bars = append(bars.Bars, b)
	}
	r.figure("makespan", "Means over the repetitions; the thick line: published, on other machines and data. Compare directions only.", bars)
}

// capacityPriority is item 13: one queue, three jobs, with and without priorities.
func capacityPriority(r *Recorder) error {
	for _, c := range []struct {
		on, what string
		order    []int
	}{{"*=1", "with priorities", []int{2, 1, 0}}, {"*=0", "without", []int{0, 1, 2}}} {
		_, runs, err := r.small(smallCluster{
			queues: whole, users: 3, params: map[string]string{"priority": c.on},
			priorities: []int8{scheduler.VeryLow, scheduler.Normal, scheduler.VeryHigh},
		}, 1)
		if err != nil {
			return err
		}
		order := []int{0, 1, 2}
		slices.SortFunc(order, func(a, b int) int { return int(runs[0].Jobs[a].MapsDone - runs[0].Jobs[b].MapsDone) })
		names := []string{"Sort (very low)", "TeraSort (normal)", "WordCount (very high)"}
		r.holds("13: map phases end in the expected order, "+c.what, names[c.order[0]]+" first, "+names[c.order[1]]+" second", names[order[0]]+" first, "+names[order[1]]+" second",
			slices.Equal(order, c.order) && runs[0].Killed == 0, "one queue, jobs submitted as Sort, TeraSort, WordCount")
		r.accept("this order, and no running task is killed")
	}
	return nil
}

// capacityArithmetic is items 10 and 11.
func capacityArithmetic(r *Recorder) error {
	n := r.seeds(3, 1)
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
		r.holds("10: "+c.what, several(int(c.want), "slot"), several(int(got), "slot"), got == c.want, "")
		r.accept("exactly")
	}
	return initLimits(r, n)
}

func initLimits(r *Recorder, n int) error {
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
		m, _, err := r.small(smallCluster{queues: halves, users: 3, init: c.init}, n)
		if err != nil {
			return err
		}
		waits[c.what], names = m.meanWait, append(names, c.what)
		r.holds("11: most jobs of a queue at once, "+c.what, several(c.want, "job"), several(m.atOnce, "job"), m.atOnce == c.want, "")
		r.accept("exactly")
	}
	two, four, none := waits["maximum-system-jobs 2"], waits["maximum-system-jobs 4"], waits["no limit"]
	r.holds("11: mean wait, maximum-system-jobs 2 > 4 > none, s", "falls", fmt.Sprintf("%s, %s, %s for 2, 4, none", number(two), number(four), number(none)), two > four && four > none, "")
	r.accept("falls at each step")
	drawLimits(r, names, waits)
	_, runs, err := r.small(smallCluster{queues: whole, users: 1, reduces: 6, init: map[string]string{"max-tasks-per-user": "*=80"}}, 1)
	if err != nil {
		return err
	}
	r.holds("11: a job of 81 tasks with a limit of 80 a user", "rejected", foundOr(runs[0].Jobs[0].Failed, "rejected", "accepted"), runs[0].Jobs[0].Failed, "")
	r.accept("rejected when submitted")
	return nil
}
