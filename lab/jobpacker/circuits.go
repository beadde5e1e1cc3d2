package jobpacker

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/jobpacker"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

func circuits(r *lab.Recorder) {
	r.Seeds(1, 1)
	times := chart.Bars{Frame: chart.Frame{Title: "Time to send 100 units between four racks", X: chart.Axis{Label: "units of time"}}}
	for i, rows := range [][4]float64{{20, 2.5, 1.25, 1.25}, {6.25, 6.25, 6.25, 6.25}} {
		took, err := matrixTime(rows)
		r.Must(err)
		want := []float64{60, 18.75}[i]
		r.Check(lab.Within("2: time for the "+[]string{"skewed", "balanced"}[i]+" matrix of Figure 4.3", took, want, 0.01*want).Because("in units of time"))
		times.Bars = append(times.Bars, chart.Plain([]string{"skewed", "balanced"}[i], took).Beside(want))
	}
	r.Figure("matrices", times)
	at, err := circuitUse(1.125e9)
	r.Must(err)
	half, err := circuitUse(0.5e9)
	r.Must(err)
	r.Check(lab.Within("3: circuit busy with transfers of 1.125 GB, %", 100*at, 90, 0.5))
	r.Check(lab.Between("3: circuit busy with transfers of 0.5 GB, %", lab.Number("less than 90"), 100*half, 0, 89.5).Accept("below 89.5"))
	drawUse(r)
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

func batches(r *lab.Recorder) {
	n := r.Seeds(20, 5)
	score := jobpacker.Score(jobpacker.Demand{0.2, 0.3, 0.5}, jobpacker.Demand{0.1, 0.2, 0.3})
	r.Check(lab.Within("4: Tetris score of the example", score, 0.23, 1e-9).Because(r.Say("what is left")))
	day, from := r.Day()
	topo, err := simulated.topology()
	r.Must(err)
	worst, beside, giants := 0.0, 0.0, 0
	bars := chart.Bars{
		Frame:  chart.Frame{Title: "How far the largest of five sub-batches exceeds their mean", X: chart.Axis{Label: "%, the worst of shuffle bytes, maps and reduces"}},
		Groups: []string{"no job larger than a sub-batch", "with such a job"}, Reference: "bound",
	}
	for i := range n {
		var demands []jobpacker.Demand
		for _, j := range simulated.jobs(day, 1000, topo, r.Seed()+uint64(i)) {
			demands = append(demands, jobpacker.Demand{float64(j.Spec.Shuffle.Bytes), float64(j.Spec.Maps), float64(j.Spec.Reduces)})
		}
		spread, giant := batchSpread(demands)
		bar := chart.Plain(fmt.Sprintf("sample %d", i+1), 100*spread)
		if giant == 0 {
			worst = max(worst, spread)
			bar = bar.Beside(20)
		} else {
			beside = max(beside, spread)
			bar = bar.In(1)
			giants++
		}
		bars.Bars = append(bars.Bars, bar)
	}
	r.Check(lab.Between("4: largest over mean sub-batch, less 1", lab.Nobody("nothing; within 20 %"), worst, 0, 0.2).Because(r.Say("worst demand", lab.Facts{"n": human.Many(int64(n-giants), "sample"), "from": from})).Mark(0.2).Accept("at most 0.2"))
	r.Check(lab.Reported("4: the same beside a job larger than a sub-batch", "its sub-batch holds little else of what it is large in", stats.Text(beside)).Because(r.Say("beside a large job", lab.Facts{"n": human.Many(int64(giants), "sample"), "of": n})))
	r.Figure("spread", bars)
	traceFacts(r)
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
