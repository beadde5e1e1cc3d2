// Package jobpacker runs the experiments of chapter 4 of the dissertation: racks joined by optical circuits (spec/jobpacker).
package jobpacker

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/topology"
)

//go:embed words.md
var words string

// Document is the chapter with its experiments.
var Document = sync.OnceValue(func() *lab.Document {
	return lab.NewDocument("jobpacker", words, []lab.Table{packSystems(), packSettings()},
		&lab.Experiment{ID: "jobpacker-latency", Seconds: 1, Run: latency},
		&lab.Experiment{ID: "jobpacker-circuits", Seconds: 1, Run: circuits},
		&lab.Experiment{ID: "jobpacker-batches", Seconds: 1, Run: batches},
		&lab.Experiment{ID: "jobpacker-share", Seconds: 60, Run: share},
		&lab.Experiment{ID: "jobpacker-batch", Seconds: 850, Run: batch},
		&lab.Experiment{ID: "jobpacker-online", Seconds: 480, Run: online},
	)
})

// packTitles are the names of the systems on a page.
var packTitles = map[string]string{"f-hybrid": "F-Hybrid", "f-eps": "F-EPS", "corral": "Corral", "jobpacker": "JobPacker"}

func packSystems() lab.Table {
	t := lab.Table{Title: "The systems that are compared", Head: []string{"name", "packets, to a rack", "circuits", "recurring jobs are planned", "shuffle is held back"}}
	circuits, packets := linkRate(simulated.circuit), linkRate(simulated.packet)
	for _, name := range packNames {
		row := []string{packTitles[name], packets, circuits, "no", "no"}
		switch name {
		case "f-eps":
			row[1], row[2] = linkRate(simulated.circuit), "none"
		case "corral":
			row[3] = "yes"
		case "jobpacker":
			row[3], row[4] = "yes", "yes"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func packSettings() lab.Table {
	h := simulated
	return lab.Table{Title: "The cluster, unless a row says otherwise", Head: []string{"what", "value"}, Rows: [][]string{
		{"racks, machines in a rack, containers of a machine", fmt.Sprintf("%d, %d, %d", h.racks, h.servers, h.containers)},
		{"link of a machine", linkRate(h.nic)},
		{"packet network, to a rack", linkRate(h.packet)},
		{"circuit", linkRate(h.circuit)},
		{"threshold of an elephant", fmt.Sprintf("%.3f GB", float64(h.threshold)/1e9)},
		{"circuits chosen anew, dark time", fmt.Sprintf("every %g s, %d ms", h.interval.Seconds(), h.dark.Milliseconds())},
		{"slow start", h.slowstart},
		{"jobs", "1,000"},
	}}
}

func linkRate(r topology.Rate) string { return fmt.Sprintf("%.0f Gb/s", float64(r)*8/1e9) }
