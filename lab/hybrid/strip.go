package hybrid

import (
	"github.com/millrace/millrace/lab"
)

// scaled are runs under one reading: a scale of the sizes, another classifier, a network, the larger cluster.
type scaled struct {
	name string
	got  map[string][]hybridRun
}

// A headline is a figure of H-FS-with over FS.
type headline struct {
	name, what, unit, published string
	line                        float64
	of                          func(hybridRun) float64
	judges                      int // as of a lab.Headline
}

// strips are headlines under every reading that was run; the first of the rows is judged, unless a headline says otherwise.
func strips(r *lab.Recorder, rows []scaled, list []headline) {
	for _, h := range list {
		var readings []lab.Reading
		for _, row := range rows {
			readings = append(readings, lab.Read(row.name, lab.Ratio(row.got["H-FS-with"], row.got["FS"], h.of)))
		}
		r.Headline(lab.Headline{Name: h.name, What: h.what, Unit: h.unit, Published: h.published, Line: h.line, None: 1, Judges: h.judges}, readings...)
	}
}
