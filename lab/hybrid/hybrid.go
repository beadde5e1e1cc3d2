// Package hybrid runs the experiments of chapter 5 of the dissertation: scale-up beside scale-out machines (spec/hybrid).
package hybrid

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/millrace/millrace/lab"
)

//go:embed words.md
var words string

// Document is the chapter with its experiments.
var Document = sync.OnceValue(func() *lab.Document {
	return lab.NewDocument("hybrid", words, []lab.Table{systems()},
		&lab.Experiment{ID: "hybrid-placement", Seconds: 1, Run: placements},
		&lab.Experiment{ID: "hybrid-stealing", Seconds: 1, Run: stealing},
		&lab.Experiment{ID: "hybrid-classifier", Seconds: 25, Run: classifier},
		&lab.Experiment{ID: "hybrid-crosspoint", Seconds: 1, Run: crosspoint},
		&lab.Experiment{ID: "hybrid-batch", Seconds: 300, Run: batch},
		&lab.Experiment{ID: "hybrid-online", Seconds: 240, Run: online},
	)
})

// systems is the table of what is compared, from the data of the runs.
func systems() lab.Table {
	t := lab.Table{
		Title: "The systems that are compared",
		Head:  []string{"name", "scale-out machines", "scale-up machines", "containers", "order of jobs", "jobs are classified", "stealing", "replicas"},
	}
	for _, v := range strategies(false, 0) {
		t.Rows = append(t.Rows, v.row())
	}
	return t
}

func (v hybridVariant) row() []string {
	yes := map[bool]string{true: "yes", false: "no"}
	order := map[string]string{"fair": "fair sharing", "delay": "delay scheduling"}[v.base]
	replicas := "one on the writer, two in another rack"
	if v.on {
		replicas = "two plus one"
	}
	out := v.cluster.racks * v.cluster.perRack
	return []string{
		v.name, fmt.Sprint(out), fmt.Sprint(v.cluster.up), fmt.Sprint(v.cluster.slots()), order, yes[v.on], yes[v.steal], replicas,
	}
}
