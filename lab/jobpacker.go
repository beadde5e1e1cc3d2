package lab

import (
	"fmt"
	"math"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler/jobpacker"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

const packSetup = "The cluster of the table above: 20 racks of 30 machines of 20 containers, 10 Gb/s to a machine, 30 Gb/s to a rack over packets, circuits of 100 Gb/s chosen every second. " +
	packDrawn + " The network is computed every 0.1 s."

// What the set-ups say of a full run; other runs put in what they have.
const (
	packDrawn   = "1,000 jobs drawn from the public trace, other ones in each repetition."
	packArrival = "Arrivals are uniform within 90 minutes."
)

var jobpackerExperiments = []*Experiment{
	{
		ID: "jobpacker-latency", Title: "The latency of a heavy job by map and reduce racks", Seconds: 1,
		Source:   "jobpacker.md 5, item 1",
		Question: "Which numbers of racks keep a job parallel and its shuffle on circuits?",
		Setup:    "An example job that the source prints in its Figure 4.6: 3,472 maps and 169 reduces on 15 racks of 600 containers. The figure is a table of the time that the job takes with 1 to 15 map racks and 1 to 15 reduce racks. The source does not say how long a task takes, nor how large the shuffle is; these are fitted to the table (83.65 s for a map, 115.6 s for a reduce, 12.1 s for the shuffle over one circuit, 1,211 s over the packet link of one rack).",
		Read:     "From 6 map racks on all maps run in one wave: the last step down. Up to 76 pairs of a map rack and a reduce rack each pair carries an elephant; with more, the parts are too small for circuits and the time jumps up by a third or more. What lies between these two steps is the green zone.",
		run:      packLatency,
	},
	{
		ID: "jobpacker-circuits", Title: "Circuits: balanced and skewed traffic, and how large an elephant must be", Seconds: 1,
		Source:   "jobpacker.md 5, items 2 and 3",
		Question: "How long does the optical switch take for balanced and for skewed traffic, and how busy is a circuit with transfers of a given size?",
		Setup:    "Four racks have 100 units to send to four racks, as in Figure 4.3 of the source: skewed, where 80 of them are in one rack, and balanced, 25 in each. What a rack has for itself costs nothing. A circuit carries one unit in a unit of time, the switch turns in no time, every 10 ms. Then one circuit of 100 Gb/s with 10 ms of dark time before each transfer.",
		Read:     "Balanced traffic takes less than a third of the time, because all four racks send at once, where otherwise three soon wait for the first. With transfers of 1.125 GB a circuit is busy nine tenths of the time: that is where the threshold of an elephant comes from.",
		run:      packCircuits,
	},
	{
		ID: "jobpacker-batches", Title: "Sub-batches of equal demand", Seconds: 1,
		Source:   "jobpacker.md 5, items 4 and 5",
		Question: "Are shuffle bytes, maps and reduces spread evenly over five sub-batches, and what do the traces hold?",
		Setup:    "Samples of 1,000 jobs of the public trace, each split into five sub-batches; then counts over all jobs of four public traces of Facebook clusters. In a row of item 5 \"published\" is the count that our specification made; the source says only that most heavy jobs read more than 1 GB.",
		Read:     "No sub-batch may exceed the mean by more than 20 per cent in any of the three demands, in samples without a job larger than a fifth of the batch: nothing can divide such a job. Beside one, the other demands may be spread less evenly too. About one job in eleven (FB-2010) or in seventeen (FB-2009) is heavy, and these hold nearly all shuffle bytes.",
		run:      packBatches,
	},
	{
		ID: "jobpacker-share", Title: "How much of the shuffle goes over circuits", Seconds: 60,
		Source:   "jobpacker.md 5, item 6",
		Question: "Which part of what crosses racks is large enough for a circuit, under JobPacker, Corral and fair sharing?",
		Setup:    packSetup + " All jobs are submitted at once.",
		Read:     "The share of circuits in the shuffle bytes that cross racks, for each repetition, then averaged. Corral's depends on whether the sample has a job so large that it gets several racks.",
		run:      packShare,
	},
	{
		ID: "jobpacker-batch", Title: "A thousand jobs at once on 20 racks with circuits", Seconds: 400,
		Source:   "jobpacker.md 5, items 7 and 10",
		Question: "When is the batch done?",
		Setup:    packSetup + " All jobs are submitted at once. Rows without a rate are for 30 Gb/s, the source's packet network; our specification asks for slower ones too, to find where the published gains are met. F-EPS keeps its 100 Gb/s in all of them.",
		Read:     "In the rows makespans are relative to F-Hybrid's, or F-EPS's, at the same rate, repetition by repetition, and the ratios are then averaged; the chart of the rates shows mean minutes, in which the longest repetitions weigh most, so that their quotients differ from the rows. With 30 Gb/s the packet network is hardly a bottleneck, so that circuits bring less than published. What JobPacker sends over packets leaves through few links, which costs it most where those are slow. Which rates meet both published ratios stands below the chart of the rates. A single sample can differ much from the mean of several.",
		run:      packBatch,
	},
	{
		ID: "jobpacker-online", Title: "A thousand jobs over ninety minutes", Seconds: 400,
		Source:   "jobpacker.md 5, items 8, 9, 11-15",
		Question: "How long does a job take when jobs arrive over time, with jobs that nobody announced, and when the plan is wrong?",
		Setup:    packSetup + " " + packArrival,
		Read:     "A row compares medians of the completion time, repetition by repetition, and gives the mean of the ratios. About two thirds of the jobs are a single short map, so the median is that of such a job, and no policy makes it much shorter; where it is longer under JobPacker, the reason is not known.",
		run:      packOnline,
	},
}

func packCircuits(r *Recorder) error {
	r.seeds(1, 1)
	times := chart.Bars{Frame: chart.Frame{Title: "Time to send 100 units between four racks", X: chart.Axis{Label: "units of time"}}}
	for i, rows := range [][4]float64{{20, 2.5, 1.25, 1.25}, {6.25, 6.25, 6.25, 6.25}} {
		took, err := matrixTime(rows)
		if err != nil {
			return err
		}
		want := []float64{60, 18.75}[i]
		r.within("2: time for the "+[]string{"skewed", "balanced"}[i]+" matrix of Figure 4.3", took, want, 0.01*want, "in units of time")
		times.Bars = append(times.Bars, chart.Bar{Label: []string{"skewed", "balanced"}[i], Value: took, Low: math.NaN(), High: math.NaN(), Published: want})
	}
	r.figure("matrices", "The thick line: published.", times)
	at, err := circuitUse(1.125e9)
	if err != nil {
		return err
	}
	half, err := circuitUse(0.5e9)
	if err != nil {
		return err
	}
	r.within("3: circuit busy with transfers of 1.125 GB, %", 100*at, 90, 0.5, "")
	r.between("3: circuit busy with transfers of 0.5 GB, %", "less than 90", 100*half, 0, 89.5, "")
	r.accept("below 89.5")
	return r.drawUse()
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
	r.within("4: Tetris score of the example", score, 0.23, 1e-9, "a sub-batch with (0.2, 0.3, 0.5) left and a job that demands (0.1, 0.2, 0.3)")
	day, from := r.day()
	topo, err := simulated.topology()
	if err != nil {
		return err
	}
	worst, beside, giants := 0.0, 0.0, 0
	spreads := newSpreads()
	for i := range n {
		var demands []jobpacker.Demand
		for _, j := range simulated.jobs(day, 1000, topo, r.options.Seed+uint64(i)) {
			demands = append(demands, jobpacker.Demand{float64(j.Spec.Shuffle.Bytes), float64(j.Spec.Maps), float64(j.Spec.Reduces)})
		}
		if spread, giant := batchSpread(demands); giant == 0 {
			worst = max(worst, spread)
			spreads.add(spread, false)
		} else {
			beside = max(beside, spread)
			spreads.add(spread, true)
			giants++
		}
	}
	r.between("4: largest over mean sub-batch, less 1", "within 20 %", worst, 0, 0.2, fmt.Sprintf("the worst of shuffle bytes, maps and reduces in %s from %s without a job larger than a sub-batch", counted(n-giants, "sample"), from))
	r.mark(0.2)
	r.accept("at most 0.2")
	r.add(Check{
		Item: "4: the same beside a job larger than a sub-batch", Published: "its sub-batch holds little else of what it is large in", Measured: number(beside), Tolerance: "reported", Verdict: ShapeOnly,
		Why: fmt.Sprintf("%s of %d; the worst of the demands in which no job is larger than a sub-batch", counted(giants, "sample"), n),
	})
	r.figure("spread", "The thick line: the bound, which is for samples without a job larger than a sub-batch. In the others only those demands are counted in which no job is that large.", spreads.Bars)
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
