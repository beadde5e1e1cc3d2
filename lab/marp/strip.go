package marp

import (
	"math"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// strips are the gains over all six jobs at once, of the best static MARP and of each controller, under every reading of the profile that
// was tried: as it was fitted, which is judged, and with each of its terms taken out.
func strips(r *lab.Recorder, all []profiled) {
	add := func(name, of, published string, line float64, gain func(profiled) stats.Estimate) {
		var list []lab.Reading
		for _, p := range all {
			list = append(list, lab.Read("profile: "+p.name, gain(p)))
		}
		r.Headline(lab.Headline{Name: name, What: "Gain of " + of + " over all six TeraSorts at once", Unit: "gain, % of PRJ's time", Published: published, Line: line, None: math.NaN()}, list...)
	}
	add("static", "the best static MARP", "no significant gain of a static value", 0, func(p profiled) stats.Estimate { return p.static })
	for i, published := range []string{"10.9", "18", "18.9"} {
		add(controllers[i], shownAs[controllers[i]], published, []float64{10.9, 18, 18.9}[i], func(p profiled) stats.Estimate { return p.gain[controllers[i]] })
	}
}
