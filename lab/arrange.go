package lab

import (
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/chart"
)

// arranged sorts figures: strips first, then in the order of their captions in the words. Figures whose names begin
// alike, such as slots-min and slots-max, are small multiples and share their axes, as strips do.
func (e *Experiment) arranged(figures []Figure) []Figure {
	place := func(f Figure) int { return slices.Index(e.order, match(e.order, f.Name)) }
	slices.SortStableFunc(figures, func(a, b Figure) int { return place(a) - place(b) }) // a strip has no place: -1
	alike := map[string][]int{}
	for i, f := range figures {
		if at := strings.LastIndex(f.Name, "-"); at > 0 {
			alike[f.Name[:at]] = append(alike[f.Name[:at]], i)
		}
	}
	for _, members := range alike {
		var charts []chart.Chart
		for _, i := range members {
			charts = append(charts, figures[i].Chart)
		}
		chart.Share(charts)
		for k, i := range members {
			figures[i].Chart = charts[k]
		}
	}
	return figures
}
