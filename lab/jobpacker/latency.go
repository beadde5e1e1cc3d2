package jobpacker

import (
	"fmt"
	"math"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/jobpacker"
	"github.com/millrace/millrace/topology"
)

// figure46 is the printed table of spec/jobpacker 2.5, rows by map racks.
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
	p := jobpacker.Profile{Maps: 3472, Reduces: 169, MapTime: lab.Seconds(83.65), ReduceTime: lab.Seconds(115.6), Shuffle: int64(bytes)}
	return m, p
}

func latency(r *lab.Recorder) {
	r.Seeds(1, 1)
	m, p := figureModel()
	equal, green, inside, outside := 0, 0, 0.0, math.Inf(1)
	var missed strings.Builder
	times, zone := make([][]float64, 15), make([][]float64, 15)
	for x := 1; x <= 15; x++ {
		for y := 1; y <= 15; y++ {
			took := m.Latency(&p, jobpacker.Pair{Maps: x, Reduces: y}).Seconds()
			if int(math.Round(took)) == figure46[x-1][y-1] {
				equal++
			} else {
				fmt.Fprintf(&missed, "(%d,%d) ", x, y)
			}
			member := math.NaN()
			if x >= 6 && x*y <= 76 {
				green++
				inside = max(inside, took)
				member = took
			} else if x >= 6 {
				outside = min(outside, took)
			}
			times[x-1], zone[x-1] = append(times[x-1], took), append(zone[x-1], member)
		}
	}
	r.Check(lab.Within("1: cells of Figure 4.6 that agree when rounded", float64(equal), 224, 0).Because("misses "+missed.String()+r.Say("racks of maps")).Quoted(lab.Number("225 cells, of which 224 do not contradict others")).Accept("224").Shown("%d", equal))
	r.Check(lab.Within("1: pairs in the green zone", float64(len(m.Feasible(&p))), 73, 0).Because(r.Say("green zone", lab.Facts{"n": green})).Quoted(lab.Number("73, and the cell that contradicts its neighbours")).Accept("73").Shown("%d", len(m.Feasible(&p))))
	r.Check(lab.Between("1: slowest pair in the zone, s", lab.Number("at most 211"), math.Round(inside), 0, 211).Mark(211).Accept("at most 211"))
	r.Check(lab.AtLeast("1: quickest pair outside it, s", lab.Number("at least 280"), math.Round(outside), 280).Because("among those with at least 6 map racks, one wave of maps").Mark(280))
	drawLatency(r, times, zone)
}

// drawLatency draws the table, and the part of it that JobPacker chooses from.
func drawLatency(r *lab.Recorder, times, zone [][]float64) {
	var rows, columns []string
	for i := range times {
		rows, columns = append(rows, "map racks: "+fmt.Sprint(i+1)), append(columns, fmt.Sprint(i+1))
	}
	frame := chart.Frame{Title: "Time of the job by map racks and reduce racks", X: chart.Axis{Label: "reduce racks"}}
	r.Figure("times", chart.Heat{Frame: frame, Rows: rows, Columns: columns, Values: times, Unit: " s"})
	frame.Title = "The green zone: pairs that JobPacker may choose"
	r.Figure("zone", chart.Heat{Frame: frame, Rows: rows, Columns: columns, Values: zone, Unit: " s"})
	r.Table(printedTable(times))
}

// printedTable is Figure 4.6 (spec/jobpacker 2.5), with the model's value where it differs.
func printedTable(times [][]float64) lab.Table {
	t := lab.Table{Title: "Figure 4.6 as printed, s; in brackets what the model gives where that differs. Rows are map racks, columns reduce racks.", Head: []string{""}}
	for x := range figure46 {
		t.Head = append(t.Head, fmt.Sprint(x+1))
		row := []string{fmt.Sprint(x + 1)}
		for y, printed := range figure46[x] {
			cell := fmt.Sprint(printed)
			if took := int(math.Round(times[x][y])); took != printed {
				cell += fmt.Sprintf(" (%d)", took)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
