package hybrid

import (
	"github.com/millrace/millrace/lab"
)

// scaled are runs under one reading: a scale of the sizes, or another classifier.
type scaled struct {
	name string
	got  map[string][]hybridRun
}

// strips are the completion times of H-FS-with over FS under every reading.
func strips(r *lab.Recorder, rows []scaled) {
	for _, h := range []struct {
		name, what, published string
		line                  float64
		of                    func(hybridRun) float64
	}{
		{"small", "Mean completion of small jobs, H-FS-with over FS", "below 0.45", 0.45, meanSmall},
		{"all", "Mean completion of all jobs, H-FS-with over FS", "0.49", 0.49, meanAll},
	} {
		var list []lab.Reading
		for _, row := range rows {
			list = append(list, lab.Read(row.name, lab.Ratio(row.got["H-FS-with"], row.got["FS"], h.of)))
		}
		r.Headline(lab.Headline{Name: h.name, What: h.what, Unit: "mean completion over FS's", Published: h.published, Line: h.line, None: 1}, list...)
	}
}
