package jobpacker

import "github.com/millrace/millrace/lab"

// strips are the makespans of JobPacker and Corral over F-Hybrid's, on every workload that was tried and, of JobPacker, with every number
// of sub-batches.
func (t *tally) strips(r *lab.Recorder, runs map[string][]packRun) {
	for _, b := range []string{"1", "8", "10", "20"} {
		t.jobpacker = append(t.jobpacker, lab.Read(usual.name()+", "+b+" sub-batches, not 5", lab.Ratio(runs["B"+b], runs["f-hybrid"], packMakespan)))
	}
	for _, h := range []struct {
		policy, published string
		line              float64
		readings          []lab.Reading
	}{{"jobpacker", "0.65", 0.65, t.jobpacker}, {"corral", "0.85", 0.85, t.corral}} {
		r.Headline(lab.Headline{Name: h.policy, What: "Makespan of " + packTitles[h.policy] + " over F-Hybrid's", Unit: "makespan over F-Hybrid's", Published: h.published, Line: h.line, None: 1}, h.readings...)
	}
}
