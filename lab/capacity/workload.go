package capacity

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

// capType is a row of spec/capacity Table 4.1.
type capType struct {
	count         int // jobs of a side
	maps, reduces int32
	cost          sim.Cost
}

var capTypes = []capType{
	{4, 100, 15, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 5, ReduceCycles: 40}},
	{3, 200, 1, sim.Cost{ShuffleRatio: 0.025, OutputRatio: 3, MapCycles: 40, ReduceCycles: 5}},
	{2, 400, 30, sim.Cost{ShuffleRatio: 3, OutputRatio: 0.025, MapCycles: 40, ReduceCycles: 40}},
	{1, 800, 8, sim.Cost{ShuffleRatio: 0.075, OutputRatio: 0.0005, MapCycles: 20, ReduceCycles: 20}},
	{24, 1, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
	{12, 2, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
	{4, 10, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
}

const longTypes = 4

// capSetting is one of the settings a to h of spec/capacity 5.3.
type capSetting struct {
	capped    bool
	factor    int
	userLimit int
	name      string
}

var capSettings = []capSetting{
	{false, 1, 100, "a"},
	{true, 1, 100, "b"},
	{false, 2, 100, "c"},
	{false, 1, 25, "d"},
	{true, 2, 100, "e"},
	{true, 1, 25, "f"},
	{false, 2, 25, "g"},
	{true, 2, 25, "h"},
}

// capOrder returns the types of a side's fifty jobs in the order they are submitted.
func capOrder(phased bool) []int {
	var long, small []int
	for i, t := range capTypes {
		for range t.count {
			if i < longTypes {
				long = append(long, i)
			} else {
				small = append(small, i)
			}
		}
	}
	if phased {
		return append(long, small...)
	}
	var out []int
	for i, l := range long {
		out = append(append(out, small[4*i:4*i+4]...), l)
	}
	return out
}

const (
	capNodes  = 30
	capBlock  = 64 << 20
	capCopies = 3
)

// capJobs makes both sides' jobs; queue names a job's queue by side and type.
func capJobs(phased bool, o capOptions, queue func(side, typ int) string, rng *rand.Rand) []*sim.Job {
	var jobs []*sim.Job
	for side := range 2 {
		for i, typ := range capOrder(phased) {
			if o.longOnly && typ >= longTypes {
				continue
			}
			t := capTypes[typ]
			id := scheduler.JobID(len(jobs))
			spec := &scheduler.JobSpec{
				ID: id, Name: fmt.Sprint("type ", typ+1), User: fmt.Sprint("u", id), Queue: queue(side, typ),
				Submit: time.Duration(i) * time.Second, Maps: t.maps, Reduces: t.reduces,
			}
			for range t.maps {
				spec.Splits.Add(capBlock, lab.SomeNodes(rng, cmp.Or(o.nodes, capNodes), o.copies)...)
			}
			jobs = append(jobs, &sim.Job{Spec: spec, Cost: t.cost})
		}
	}
	return jobs
}

// capGroup is a row of spec/capacity 5.3: a pattern with its capacities.
type capGroup struct {
	first     int // number of its experiment a
	phased    bool
	queues    string // with their capacities, as the policy wants them
	queueName func(side, typ int) string
}

func bySide(side, _ int) string { return fmt.Sprint("q", side+1) }

func bySize(side, typ int) string {
	if typ < longTypes {
		return fmt.Sprint("long", side+1)
	}
	return fmt.Sprint("small", side+1)
}

var capGroups = []capGroup{
	{1, true, "q1=50,q2=50", bySide},
	{9, true, "q1=70,q2=30", bySide},
	{17, false, "q1=50,q2=50", bySide},
	{25, false, "long1=40,long2=40,small1=10,small2=10", bySize},
}

// queueNames returns the names of queues with their capacities.
func queueNames(queues string) (names []string) {
	for queue := range strings.SplitSeq(queues, ",") {
		name, _, _ := strings.Cut(queue, "=")
		names = append(names, name)
	}
	return names
}

// params are those of the policy.
func (g capGroup) params(s capSetting, lag string) map[string]string {
	p := map[string]string{
		"queues": g.queues, "user-limit": fmt.Sprintf("*=%d", s.userLimit),
		"user-limit-factor": fmt.Sprintf("*=%d", s.factor), "usage-lag": lag,
	}
	if s.capped {
		p["max-capacity"] = g.queues
	}
	return p
}

// contradicted reports whether the tables of an experiment were not made by the order of queues that the text states: those
// without caps whose queues differ. They are judged under an order by backlog (spec/capacity 7.1).
func (g capGroup) contradicted(s capSetting) bool {
	return !s.capped && (g.first == 9 || g.first == 25)
}

// capOptions are what experiments vary beside the settings.
type capOptions struct {
	lag      string
	copies   int
	nodes    int               // 0: capNodes
	longOnly bool              // without the small jobs
	params   map[string]string // of the policy, further ones
	watch    *compare.Watcher  // of the first repetition
	devices  *sim.DeviceConfig // nil means MRPERF's
}

// in returns the options as the reader has set them.
func (o capOptions) in(r *lab.Recorder) capOptions {
	o.nodes = r.Int("nodes", capNodes)
	if copies := r.Int("copies", capCopies); o.copies == capCopies {
		o.copies = copies
	}
	return o
}

// capBase is the base configuration of spec/capacity 6.
func capBase() capOptions { return capOptions{lag: capLag, copies: capCopies} }
