package marp

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/lab"
)

// strips are the gains over all six jobs at once: of the best static MARP, with the other static values, and of the controllers.
func strips(r *lab.Recorder, six sweepResult, g gainRuns) {
	all := six.mean[5]
	at := func(i int) lab.Reading {
		return lab.ReadOne(fmt.Sprintf("static MARP %g", six.marp[i]), 100*(all-six.mean[i])/all)
	}
	best := six.best()
	list := []lab.Reading{at(best)}
	for i := range six.marp[:5] {
		if i != best {
			list = append(list, at(i))
		}
	}
	for _, name := range controllers {
		list = append(list, lab.ReadOne(shownAs[name], g.gain[name]))
	}
	r.Headline(lab.Headline{Name: "static", What: "Gain over all six TeraSorts at once", Unit: "gain, % of PRJ's time", Published: "no significant gain of a static value", Line: 0, None: math.NaN()}, list...)
}
