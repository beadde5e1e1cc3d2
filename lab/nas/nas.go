// Package nas runs the experiments of chapter 3 of the dissertation: scheduling that knows the network (spec/nas).
package nas

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/nas"
	"github.com/millrace/millrace/topology"
)

//go:embed words.md
var words string

// Document is the chapter with its experiments.
var Document = sync.OnceValue(func() *lab.Document {
	return lab.NewDocument("nas", words, []lab.Table{clusterTable(), classTable(), publishedTable()},
		&lab.Experiment{ID: "nas-mix", Seconds: 1, Run: mix},
		&lab.Experiment{ID: "nas-skips", Seconds: 1, Run: skips},
		&lab.Experiment{ID: "nas-formulas", Seconds: 1, Run: formulas},
		&lab.Experiment{ID: "nas-40", Seconds: 330, Run: fortyNodes},
		&lab.Experiment{ID: "nas-ablation", Seconds: 150, Run: ablation},
		&lab.Experiment{ID: "nas-sweeps", Seconds: 120, Run: sweeps},
		&lab.Experiment{ID: "nas-600", Seconds: 900, Run: wholeDay},
	)
})

func megabits(r topology.Rate) string { return fmt.Sprintf("%g Mb/s", float64(r)*8/1e6) }

func clusterTable() lab.Table {
	row := func(name string, c nasCluster, jobs string) []string {
		return []string{
			name, fmt.Sprintf("%d in %d racks of %d", c.racks*c.nodes, c.racks, c.nodes), fmt.Sprint(c.containers), megabits(c.nic), megabits(c.uplink), fmt.Sprint(c.users), jobs,
		}
	}
	return lab.Table{
		Title: "The two clusters",
		Head:  []string{"experiments", "nodes", "containers on a node", "to each node", "to each rack", "users", "jobs"},
		Rows: [][]string{
			row("nas-40, nas-ablation, nas-sweeps", nas40, "200 drawn from the trace, 14 s apart on average"),
			row("nas-600", nas600, "the whole trace as it arrived, sizes x1 and x0.2"),
		},
	}
}

func classTable() lab.Table {
	c := nas.DefaultClasses()
	mb := func(bytes int64) string { return fmt.Sprintf("%d MB", bytes>>20) }
	return lab.Table{
		Title: "The classes of jobs (a megabyte is 2^20 bytes)",
		Head:  []string{"class", "rule"},
		Rows: [][]string{
			{"shuffle-light", "shuffles less than " + mb(c.Light)},
			{"shuffle-medium", "shuffles " + mb(c.Light) + " to " + mb(c.Heavy)},
			{"shuffle-heavy", "shuffles more than " + mb(c.Heavy)},
			{"small-input", "reads less than " + mb(c.SmallInput)},
		},
	}
}

// nasPublished are the values of NAS over Fair, Delay and SW-delay that the checks ask for (spec/nas 4.4).
var nasPublished = struct{ throughput40, completion40, throughput600 [3]float64 }{
	[3]float64{1.58, 1.39, 1.27}, [3]float64{0.62, 0.69, 0.71}, [3]float64{1.569, 1.412, 1.280},
}

func publishedTable() lab.Table {
	row := func(name string, v [3]float64) []string {
		return []string{name, fmt.Sprintf("%.4g", v[0]), fmt.Sprintf("%.4g", v[1]), fmt.Sprintf("%.4g", v[2])}
	}
	return lab.Table{
		Title: "What was published: NAS over the others",
		Head:  []string{"", "over Fair", "over Delay", "over SW-delay"},
		Rows: [][]string{
			row("throughput, 40 nodes, its simulator", nasPublished.throughput40),
			row("throughput, 40 nodes, a real cluster", [3]float64{1.63, 1.47, 1.30}),
			row("mean completion, 40 nodes, its simulator", nasPublished.completion40),
			row("mean completion, 40 nodes, a real cluster", [3]float64{0.57, 0.64, 0.68}),
			row("throughput, 600 nodes, its simulator", nasPublished.throughput600),
		},
	}
}
