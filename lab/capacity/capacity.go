// Package capacity runs the experiments of the thesis on the Capacity Scheduler (spec/capacity).
package capacity

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/millrace/millrace/lab"
)

//go:embed words.md
var words string

// Document is the thesis with its experiments.
var Document = sync.OnceValue(func() *lab.Document {
	return lab.NewDocument("capacity", words, []lab.Table{typeTable(), settingTable(), experimentTable()},
		&lab.Experiment{ID: "capacity-locality", Seconds: 90, Run: locality},
		&lab.Experiment{ID: "capacity-ratios", Seconds: 50, Run: ratios},
		&lab.Experiment{ID: "capacity-phased", Seconds: 15, Run: phased},
		&lab.Experiment{ID: "capacity-separate", Seconds: 18, Run: separate},
		&lab.Experiment{ID: "capacity-unequal", Seconds: 6, Run: unequal},
		&lab.Experiment{ID: "capacity-uncapped", Seconds: 10, Run: uncapped},
		&lab.Experiment{ID: "capacity-inert", Seconds: 10, Run: inert},
		&lab.Experiment{ID: "capacity-variability", Seconds: 12, Run: variability},
		&lab.Experiment{ID: "capacity-arithmetic", Seconds: 1, Run: arithmetic},
		&lab.Experiment{ID: "capacity-small", Seconds: 2, Run: orderings},
		&lab.Experiment{ID: "capacity-pairs", Seconds: 2, Run: pairs},
		&lab.Experiment{ID: "capacity-delay", Seconds: 3, Run: delay},
	)
})

// typeTable is the seven types of job, from the data that the runs use.
func typeTable() lab.Table {
	t := lab.Table{
		Title: "The seven types of job. A map reads one block of 64 MB; the ratios are bytes out over bytes in.",
		Head:  []string{"type", "jobs of a side", "maps", "reduces", "map output / input", "reduce output / input", "map, cycles a byte", "reduce, cycles a byte"},
	}
	for i, c := range capTypes {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(i + 1), fmt.Sprint(c.count), fmt.Sprint(c.maps), fmt.Sprint(c.reduces), fmt.Sprint(c.cost.ShuffleRatio), fmt.Sprint(c.cost.OutputRatio),
			fmt.Sprint(c.cost.MapCycles), fmt.Sprint(c.cost.ReduceCycles),
		})
	}
	return t
}

// settingTable is the settings a to h.
func settingTable() lab.Table {
	t := lab.Table{Title: "The eight settings.", Head: []string{"setting", "cap", "user limit factor", "MULP, %"}}
	for _, s := range capSettings {
		t.Rows = append(t.Rows, []string{s.name, capWord(s), fmt.Sprint(s.factor), fmt.Sprint(s.userLimit)})
	}
	return t
}

// experimentTable is the 32 experiments.
func experimentTable() lab.Table {
	t := lab.Table{Title: "The 32 experiments.", Head: []string{"experiment", "submission", "capacities, %", "setting", "cap", "user limit factor", "MULP, %"}}
	pattern := []string{"phased", "phased", "interleaved", "separate"}
	for k, g := range capGroups {
		for i, s := range capSettings {
			t.Rows = append(t.Rows, []string{fmt.Sprint(g.first + i), pattern[k], strings.NewReplacer("=", " ", ",", ", ").Replace(g.queues), s.name, capWord(s), fmt.Sprint(s.factor), fmt.Sprint(s.userLimit)})
		}
	}
	return t
}

func capWord(s capSetting) string {
	if s.capped {
		return "at the capacity"
	}
	return "none"
}
