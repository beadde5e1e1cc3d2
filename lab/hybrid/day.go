package hybrid

import (
	"strings"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// The clusters of the source's simulation (spec/hybrid 4.1).
var (
	wideTraditional = hybridCluster{20, 30, 0}
	wideMixed       = hybridCluster{19, 30, 6}
)

// allJobs gives variants all jobs of the day, with sizes as they are: as they arrived, or all at once.
func (s setting) allJobs(list []hybridVariant, online bool) []hybridVariant {
	for i := range list {
		list[i].day, list[i].scale, list[i].whole, list[i].online, list[i].learned = s.day, 1, true, online, s.wide()
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
	return rows
}

// wholeVariants are the systems of the larger cluster. A batch, in which a run takes a minute, has no run with the label rule.
func wholeVariants(at setting, online bool) []hybridVariant {
	list := at.allJobs([]hybridVariant{
		{name: "FS", cluster: wideTraditional, base: "fair"},
		{name: "H-FS-with", cluster: wideMixed, base: "fair", on: true, steal: true},
		{name: "DS", cluster: wideTraditional, base: "delay"},
		{name: "H-DS-with", cluster: wideMixed, base: "delay", on: true, steal: true},
	}, online)
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
