package hybrid

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// The clusters of the source's simulation (spec/hybrid 4.1).
var (
	wideTraditional = hybridCluster{20, 30, 0}
	wideMixed       = hybridCluster{19, 30, 6}
)

// allJobs gives variants all jobs of the day: as they arrived, or all at once.
func (s setting) allJobs(list []hybridVariant, online bool, scale float64) []hybridVariant {
	for i := range list {
		list[i].day, list[i].scale, list[i].whole, list[i].online, list[i].learned = s.day, scale, true, online, s.wide[scale]()
	}
	return list
}

// wholeDay is the simulation of the source: 600 scale-out machines against 570 and 6 scale-up ones, all jobs of the day. It returns the
// readings of it.
func wholeDay(r *lab.Recorder, at setting, online bool) []scaled {
	if r.Quick() {
		return nil
	}
	got := hybrids(r, wholeVariants(at, online), 1)
	what := "570 + 6 machines against 600, the whole day"
	if !online {
		what += " at once"
	}
	rows := []scaled{{what + ", x1", got}}
	if online {
		short := strings.Replace(what, " against 600", "", 1) // a strip has room for some fifty letters
		rows = append(rows, scaled{short + ", x1, the label rule", map[string][]hybridRun{"FS": got["FS"], "H-FS-with": got["ruled"]}})
	}
	for _, q := range wholeQuantities(online) {
		over := func(a, b string) string { return stats.Text(lab.Ratio(got[a], got[b], q.of).Mean) }
		why := "one run of each; sizes as they are; the trained classifier"
		if online {
			why += ". With the label rule H-FS-with / FS is " + over("ruled", "FS")
		}
		r.Check(lab.Reported(q.name+", H-FS-with / FS and H-DS-with / DS, "+what, q.published, over("H-FS-with", "FS")+" and "+over("H-DS-with", "DS")).Because(why))
	}
	if !online {
		rows = append(rows, triedAtOnce(r, at, rows[0])...)
	}
	return rows
}

// atOnce are other readings of the batch on the larger cluster: what tells small jobs from large ones, whether jobs are stolen, and how strong the
// scale-up machines are.
func atOnce(at setting) []hybridVariant {
	with := hybridVariant{cluster: wideMixed, base: "fair", on: true, steal: true}
	list := []hybridVariant{{name: "FS", cluster: wideTraditional, base: "fair"}}
	for _, name := range []string{"the trained classifier", "the label rule", "no stealing", "48 containers each", "up twice as fast"} {
		with.name = name
		list = append(list, with)
	}
	list = at.allJobs(list, false, wideScale)
	list[2].learned, list[3].steal, list[4].room, list[5].faster = nil, false, 2*upSlots, 2
	return list
}

// triedAtOnce runs these readings with the sizes that SWIM's generator makes for 600 machines, a fifth of those of the trace: with sizes as they
// are a run takes a minute. It reports them beside the reading with sizes as they are.
func triedAtOnce(r *lab.Recorder, at setting, judged scaled) (rows []scaled) {
	list := atOnce(at)
	got := hybrids(r, list, 1)
	for _, v := range list[1:] {
		rows = append(rows, scaled{"570 + 6, all at once, x0.2, " + v.name, map[string][]hybridRun{"FS": got["FS"], "H-FS-with": got[v.name]}})
	}
	var said []string
	for _, row := range append([]scaled{judged}, rows...) {
		over := func(of func(hybridRun) float64) string {
			return stats.Text(lab.Ratio(row.got["H-FS-with"], row.got["FS"], of).Mean)
		}
		said = append(said, fmt.Sprintf("%s: %s and %s, %.0f jobs stolen", row.name, over(smallEndOf), over(makespanOf), lab.Mean(row.got["H-FS-with"], stolenJobs)))
	}
	with := got[list[1].name]
	r.Check(lab.Reported("8, 9: end of the last small job and makespan, H-FS-with / FS, all readings tried on 570 + 6 machines", "0.47 (figure only) and 0.73 simulated", strings.Join(said, "; ")).
		Because(r.Say("queued up", lab.Facts{"called": lab.Mean(with, calledSmall), "all": len(with[0].jobs), "room": wideMixed.up * upSlots, "wait": lab.Mean(with, smallWait), "waited": lab.Mean(got["FS"], smallWait)})))
	return rows
}

// wholeVariants are the systems of the larger cluster. A batch, in which a run takes a minute, has no run with the label rule.
func wholeVariants(at setting, online bool) []hybridVariant {
	list := at.allJobs([]hybridVariant{
		{name: "FS", cluster: wideTraditional, base: "fair"},
		{name: "H-FS-with", cluster: wideMixed, base: "fair", on: true, steal: true},
		{name: "DS", cluster: wideTraditional, base: "delay"},
		{name: "H-DS-with", cluster: wideMixed, base: "delay", on: true, steal: true},
	}, online, 1)
	if online {
		ruled := list[1]
		ruled.name, ruled.learned = "ruled", nil
		list = append(list, ruled)
	}
	return list
}

// wholeQuantities are what was published of the larger cluster; figures without numbers have only a direction.
func wholeQuantities(online bool) []quantity {
	if !online {
		return []quantity{
			{"9: makespan of all jobs", "0.73 and 0.80 simulated", "", "", makespanOf},
			{"8: until the last small job ends", "as on the real cluster, 0.47 and 0.54 (figure only)", "", "", smallEndOf},
		}
	}
	return []quantity{
		{"9: mean completion", "below 1", "", "", meanAll},
		{"9: median completion", "below 1", "", "", medianAll},
		{"7: mean completion of small jobs", "below 0.45", "", "", meanSmall},
		{"7: mean completion of large jobs", "0.80 and more", "", "", meanLarge},
		{"10: completion of the largest job", "slower (above 1)", "", "", topOf},
	}
}
