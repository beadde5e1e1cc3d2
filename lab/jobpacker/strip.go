package jobpacker

import "github.com/millrace/millrace/lab"

// strips are the makespans of JobPacker and Corral over F-Hybrid's, on every workload that was tried and, of JobPacker, with every number
// and every order of sub-batches.
func (t *tally) strips(r *lab.Recorder, runs map[string][]packRun) {
	for _, b := range []string{"1", "8", "10", "20"} {
		t.jobpacker = append(t.jobpacker, lab.Read(usual.name()+", "+b+" sub-batches, not 5", lab.Ratio(runs["B"+b], runs["f-hybrid"], packMakespan)))
	}
	for _, seed := range otherOrders {
		t.jobpacker = append(t.jobpacker, lab.Read(usual.name()+", order "+seed+" of the sub-batches", lab.Ratio(runs["order "+seed], runs["f-hybrid"], packMakespan)))
	}
	for _, h := range []struct {
		policy, published string
		line              float64
		readings          []lab.Reading
	}{{"jobpacker", "0.65", 0.65, t.jobpacker}, {"corral", "0.85", 0.85, t.corral}} {
		r.Headline(lab.Headline{Name: h.policy, What: "Makespan of " + packTitles[h.policy] + " over F-Hybrid's", Unit: "makespan over F-Hybrid's", Published: h.published, Line: h.line, None: 1, Judges: t.judged}, h.readings...)
	}
}

// onlineStrips are the medians of JobPacker and Corral over F-Hybrid's under each rule for reduces, over the jobs with an elephant, which
// is judged, and over all.
func onlineStrips(r *lab.Recorder, runs map[string][]packRun) {
	for _, h := range []struct {
		policy, published string
		line              float64
	}{{"jobpacker", "0.57", 0.57}, {"corral", "0.79", 0.79}} {
		var list []lab.Reading
		for _, rule := range [][2]string{{"", "a reduce for each GiB"}, {"swim ", "SWIM's reduces"}} {
			list = append(list,
				lab.Read(rule[1]+", jobs with an elephant", lab.Ratio(runs[rule[0]+h.policy], runs[rule[0]+"f-hybrid"], packMedian)),
				lab.Read(rule[1]+", all jobs", lab.Ratio(runs[rule[0]+h.policy], runs[rule[0]+"f-hybrid"], packMedianAll)))
		}
		r.Headline(lab.Headline{Name: h.policy + "Online", What: "Median completion of " + packTitles[h.policy] + " over F-Hybrid's", Unit: "median completion over F-Hybrid's", Published: h.published, Line: h.line, None: 1}, list...)
	}
}
