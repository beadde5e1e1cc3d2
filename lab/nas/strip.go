package nas

import (
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// strips are throughput and completion of NAS over Fair under every reading of a regime.
func strips(r *lab.Recorder, g regime, tried []reading, runs nasRuns) {
	for _, q := range []struct {
		name, what, published string
		line                  float64
		of                    func(nasRun) float64
	}{
		{"throughput", "Throughput of NAS over Fair", stats.Text(nasPublished.throughput40[0]), nasPublished.throughput40[0], throughput},
		{"completion", "Mean completion of NAS over Fair", stats.Text(nasPublished.completion40[0]), nasPublished.completion40[0], completion},
	} {
		list := []lab.Reading{lab.Read("as judged", lab.Ratio(runs["nas"], runs["fair"], q.of))}
		for _, c := range tried {
			list = append(list, lab.Read(c.name, lab.Ratio(runs["nas, "+c.name], runs["fair, "+c.name], q.of)))
		}
		r.Headline(lab.Headline{Name: q.name + g.name, What: q.what + ", regime " + g.name, Unit: q.name + " over Fair's", Published: q.published, Line: q.line, None: 1}, list...)
	}
}
