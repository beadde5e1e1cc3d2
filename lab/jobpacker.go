package lab

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler/jobpacker"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

var jobpackerExperiments = []*Experiment{
	{
		ID: "jobpacker-latency", Title: "The latency of a heavy job by map and reduce racks", Seconds: 1,
		Source:   "jobpacker.md 5, item 1",
		Question: "Which numbers of racks keep a job parallel and its shuffle on circuits?",
		Setup:    "The example job of Figure 4.6: 3,472 maps, 169 reduces, 15 racks of 600 containers, with the constants fitted in jobpacker.md 2.5.",
		Read:     "225 cells against the printed table; one cell of it contradicts its neighbours.",
		run:      packLatency,
	},
	{
		ID: "jobpacker-circuits", Title: "Circuits: balanced and skewed traffic, and how large an elephant must be", Seconds: 1,
		Source:   "jobpacker.md 5, items 2 and 3",
		Question: "How long does the optical switch take for the two matrices of Figure 4.3, and how busy is a circuit?",
		Setup:    "Four racks, rate 1, no dark time, 10 ms intervals; then one circuit of 100 Gb/s with 10 ms of dark time before each transfer.",
		Read:     "Balanced traffic is three times as fast; at 1.125 GB a circuit is busy nine tenths of the time.",
		run:      packCircuits,
	},
	{
		ID: "jobpacker-batches", Title: "Sub-batches of equal demand", Seconds: 1,
		Source:   "jobpacker.md 5, items 4 and 5",
		Question: "Are shuffle bytes, maps and reduces spread evenly over five sub-batches, and what do the traces hold?",
		Setup:    "1,000 jobs drawn from the trace; all four public traces.",
		Read:     "Totals of the sub-batches within 20 per cent, unless one job is larger than a fifth of all.",
		run:      packBatches,
	},
	{
		ID: "jobpacker-share", Title: "How much of the shuffle goes over circuits", Seconds: 60,
		Source:   "jobpacker.md 5, item 6",
		Question: "Which part of what crosses racks is large enough for a circuit, under JobPacker, Corral and Fair?",
		Setup:    "As jobpacker-batch: a thousand jobs at once.",
		Read:     "Shares of the shuffle between racks, run by run, then averaged.",
		run:      packShare,
	},
	{
		ID: "jobpacker-batch", Title: "A thousand jobs at once on 20 racks with circuits", Seconds: 400,
		Source:   "jobpacker.md 5, items 7 and 10",
		Question: "When is the batch done?",
		Setup:    "20 racks of 30 nodes of 20 containers, 10 Gb/s to a node, 30 Gb/s to a rack, circuits of 100 Gb/s chosen every second; network computed every 0.1 s. F-EPS has 100 Gb/s to a rack and no circuits.",
		Read:     "Makespans are relative to F-Hybrid.",
		run:      packBatch,
	},
	{
		ID: "jobpacker-online", Title: "A thousand jobs over ninety minutes", Seconds: 400,
		Source:   "jobpacker.md 5, items 8, 9, 11-15",
		Question: "How long does a job take when jobs arrive over time, with jobs that nobody announced, and when the plan is wrong?",
		Setup:    "As jobpacker-batch, arrivals even within 90 minutes.",
		Read:     "Medians relative to F-Hybrid.",
		run:      packOnline,
	},
}

// figure46 is the printed table of jobpacker.md 2.5, rows by map racks.
var figure46 = [15][15]int{
	{630, 630, 630, 630, 630, 630, 630, 630, 630, 630, 630, 630, 630, 630, 630},
	{379, 373, 373, 373, 373, 373, 373, 373, 373, 373, 373, 373, 373, 373, 373},
	{295, 289, 287, 287, 287, 287, 287, 287, 287, 287, 287, 287, 287, 287, 287},
	{295, 289, 287, 286, 286, 286, 286, 286, 286, 286, 286, 286, 286, 286, 286},
	{295, 289, 287, 286, 285, 285, 285, 285, 285, 285, 285, 285, 285, 285, 285},
	{211, 205, 203, 202, 202, 201, 201, 201, 201, 201, 201, 201, 201, 401, 401},
	{211, 205, 203, 202, 202, 201, 201, 201, 201, 201, 372, 372, 372, 372, 372},
	{211, 205, 203, 202, 202, 201, 201, 201, 201, 351, 351, 351, 351, 351, 351},
	{211, 205, 203, 202, 202, 201, 201, 201, 334, 334, 334, 334, 334, 334, 334},
	{211, 205, 203, 202, 202, 201, 201, 320, 320, 320, 320, 320, 320, 320, 320},
	{211, 205, 203, 202, 202, 201, 309, 309, 309, 309, 309, 309, 309, 309, 309},
	{211, 205, 203, 202, 202, 201, 300, 300, 300, 300, 300, 300, 300, 300, 300},
	{211, 205, 203, 202, 202, 292, 292, 292, 292, 292, 292, 292, 292, 292, 292},
	{211, 205, 203, 202, 202, 286, 286, 286, 286, 286, 286, 286, 286, 286, 286},
	{211, 205, 203, 202, 202, 280, 280, 280, 280, 280, 280, 280, 280, 280, 280},
}

// figureModel is the example job with the fitted constants: a circuit of 1 unit a second
// and a packet link of a hundredth of that, for 12.1 units.
func figureModel() (jobpacker.Model, jobpacker.Profile) {
	unit := 1e9
	bytes := 12.1 * unit
	m := jobpacker.Model{
		Racks: 15, MapSlots: 600, ReduceSlots: 600, Optical: topology.Rate(unit), Electrical: topology.Rate(bytes / 1211), Threshold: int64(bytes / 76.5),
	}
	p := jobpacker.Profile{Maps: 3472, Reduces: 169, MapTime: seconds(83.65), ReduceTime: seconds(115.6), Shuffle: int64(bytes)}
	return m, p
}

func packLatency(r *Recorder) error {
	r.seeds(1, 1)
	m, p := figureModel()
	equal, green, inside, outside := 0, 0, 0.0, math.Inf(1)
	var missed strings.Builder
	for x := 1; x <= 15; x++ {
		for y := 1; y <= 15; y++ {
			took := m.Latency(&p, jobpacker.Pair{Maps: x, Reduces: y}).Seconds()
			if int(math.Round(took)) == figure46[x-1][y-1] {
				equal++
			} else {
				fmt.Fprintf(&missed, "(%d,%d) ", x, y)
			}
			if x >= 6 && x*y <= 76 {
				green++
				inside = max(inside, took)
			} else if x >= 6 {
				outside = min(outside, took)
			}
		}
	}
	r.within("1: cells of Figure 4.6 that agree when rounded", float64(equal), 224, 0, "misses "+missed.String()+"which contradicts its neighbours in print; constants calibrated in jobpacker.md 2.5")
	r.within("1: pairs in the green zone", float64(len(m.Feasible(&p))), 73, 0, fmt.Sprintf("%d by the product rule", green))
	r.between("1: slowest pair in the zone, s", "at most 211", math.Round(inside), 0, 211, "")
	r.between("1: quickest pair outside it, s", "at least 280", math.Round(outside), 280, math.Inf(1), "rows of one map wave")
	return nil
}

func packCircuits(r *Recorder) error {
	r.seeds(1, 1)
	for i, rows := range [][4]float64{{20, 2.5, 1.25, 1.25}, {6.25, 6.25, 6.25, 6.25}} {
		took, err := matrixTime(rows)
		if err != nil {
			return err
		}
		want := []float64{60, 18.75}[i]
		r.within("2: time for the "+[]string{"skewed", "balanced"}[i]+" matrix of Figure 4.3", took, want, 0.01*want, "")
	}
	at, err := circuitUse(1.125e9)
	if err != nil {
		return err
	}
	half, err := circuitUse(0.5e9)
	if err != nil {
		return err
	}
	r.within("3: circuit busy with transfers of 1.125 GB, %", 100*at, 90, 0.5, "")
	r.between("3: circuit busy with transfers of 0.5 GB, %", "less", 100*half, 0, 89.5, "")
	return nil
}

// optical makes racks of one node behind an optical switch.
func optical(racks int, o topology.OCS) (*flow.Network, error) {
	b := topology.NewBuilder()
	for range racks {
		rack, err := b.AddRack(topology.Rack{Uplink: 1})
		if err != nil {
			return nil, err
		}
		if _, err := b.AddNode(topology.Node{Rack: rack}); err != nil {
			return nil, err
		}
	}
	if err := b.SetOCS(o); err != nil {
		return nil, err
	}
	return flow.New(b.Topology(), flow.Config{})
}

// drain plays a network to its end.
func drain(n *flow.Network) (last time.Duration) {
	for at := n.Next(); at != flow.Never; at = n.Next() {
		for {
			if _, ok := n.Done(at); !ok {
				break
			}
			last = at
		}
	}
	return last
}

// matrixTime sends the same bytes from each rack to every other one.
func matrixTime(rows [4]float64) (float64, error) {
	n, err := optical(4, topology.OCS{Rate: 1, Interval: 10 * time.Millisecond})
	if err != nil {
		return 0, err
	}
	for i, bytes := range rows {
		for j := range rows {
			if i != j {
				n.Start(0, flow.Spec{From: flow.Rack(topology.RackID(i)), To: flow.Rack(topology.RackID(j)), Bytes: bytes, Optical: true})
			}
		}
	}
	return drain(n).Seconds(), nil
}

// circuitUse sends transfers one after the other to two racks in turn, so that the switch
// is set before each.
func circuitUse(bytes float64) (float64, error) {
	o := topology.OCS{Rate: topology.Gbps(100), Reconfig: 10 * time.Millisecond}
	each := o.Rate.Time(int64(bytes))
	o.Interval = o.Reconfig + each + 10
	n, err := optical(3, o)
	if err != nil {
		return 0, err
	}
	const rounds = 100
	now := time.Duration(0)
	for i := range rounds {
		n.Start(now, flow.Spec{From: flow.Rack(0), To: flow.Rack(topology.RackID(1 + i%2)), Bytes: bytes, Optical: true})
		now = drain(n)
	}
	return rounds * each.Seconds() / now.Seconds(), nil
}

func packBatches(r *Recorder) error {
	n := r.seeds(20, 5)
	score := jobpacker.Score(jobpacker.Demand{0.2, 0.3, 0.5}, jobpacker.Demand{0.1, 0.2, 0.3})
	r.within("4: Tetris score of the example", score, 0.23, 1e-9, "")
	day, from := r.day()
	topo, err := simulated.topology()
	if err != nil {
		return err
	}
	worst, beside, giants := 0.0, 0.0, 0
	for i := range n {
		var demands []jobpacker.Demand
		for _, j := range simulated.jobs(day, 1000, topo, r.options.Seed+uint64(i)) {
			demands = append(demands, jobpacker.Demand{float64(j.Spec.Shuffle.Bytes), float64(j.Spec.Maps), float64(j.Spec.Reduces)})
		}
		if spread, giant := batchSpread(demands); giant == 0 {
			worst = max(worst, spread)
		} else {
			beside = max(beside, spread)
			giants++
		}
	}
	r.between("4: largest over mean sub-batch, less 1", "within 20 %", worst, 0, 0.2, fmt.Sprintf("%d samples from %s without a job larger than a sub-batch", n-giants, from))
	r.add(Check{
		Item: "4: the same beside a job larger than a sub-batch", Published: "little else in its dimension", Measured: number(beside), Tolerance: "reported", Verdict: ShapeOnly,
		Why: fmt.Sprintf("%d samples; the other dimensions", giants),
	})
	return r.traceFacts()
}

// batchSpread returns how much the largest sub-batch exceeds the mean, over dimensions in
// which no job is larger than a sub-batch, and how many dimensions have such a job.
func batchSpread(demands []jobpacker.Demand) (worst float64, giants int) {
	const b = 5
	parts := jobpacker.SubBatches(demands, b)
	for dim := range 3 {
		total, largest := 0.0, 0.0
		for _, d := range demands {
			total += d[dim]
			largest = max(largest, d[dim])
		}
		if largest > total/b {
			giants++
			continue
		}
		for _, part := range parts {
			sum := 0.0
			for _, i := range part {
				sum += demands[i][dim]
			}
			worst = max(worst, sum/(total/b)-1)
		}
	}
	return worst, giants
}

// traceFacts is item 5: the table of jobpacker.md 4.1.
func (r *Recorder) traceFacts() error {
	for _, row := range []struct {
		file                    string
		jobs, heavy             float64
		recall, precise, volume float64
	}{
		{"FB-2009_samples_24_times_1hr_0.tsv", 5894, 338, 84.9, 54.7, 99.5},
		{"FB-2009_samples_24_times_1hr_1.tsv", 6638, 409, 77.5, 41.2, 99.3},
		{fbDay, 24_442, 2194, 96.4, 31.7, 99.8},
		{"FB-2010_samples_24_times_1hr_withInputPaths_0.tsv", 25_428, 2322, 94.9, 30.5, 99.8},
	} {
		jobs, err := publicTrace(row.file)
		if errors.Is(err, errNoTraces) {
			r.add(Check{Item: "5: " + row.file, Published: number(row.jobs) + " jobs", Measured: "the trace is not here", Tolerance: "exact", Verdict: ShapeOnly, Why: "set MILLRACE_TRACES"})
			continue
		}
		if err != nil {
			return err
		}
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
		r.within("5: jobs in "+row.file, float64(len(jobs)), row.jobs, 0, "")
		r.within("5: heavy jobs", heavy, row.heavy, 0, "")
		r.within("5: recall of the 1 GB rule, %", 100*both/heavy, row.recall, 0.05, "")
		r.within("5: precision of the rule, %", 100*both/large, row.precise, 0.05, "")
		r.within("5: share of shuffle bytes, %", 100*heavyBytes/bytes, row.volume, 0.05, "")
	}
	return nil
}
