package lab

import (
	"fmt"
	"strings"
)

// noCollapse is why the gains of NAS are not found here.
const noCollapse = "in a network that shares its links fairly and loses nothing, spreading traffic over time moves no more bytes; " +
	"what NAS can save is what congestion costs beyond sharing, which flows do not show"

// heldReduces is why SW-delay is slow where racks are congested.
const heldReduces = "SW-delay starts no reduce at all in a congested rack, without a bound"

// mechanisms are values over those of Fair: MTS alone, without CR-RTS, and all of NAS.
type mechanisms struct{ mts, without, all float64 }

func mechanismsOf(runs map[string][]nasRun, of func(*nasRun) float64) mechanisms {
	return mechanisms{ratio(runs, "nas-mts", "fair", of), ratio(runs, "nas-mts-ca", "fair", of), ratio(runs, "nas", "fair", of)}
}

// below says which mechanism takes throughput away; empty where none does.
func (m mechanisms) below() string {
	const row = "row \"mechanism by mechanism\""
	switch {
	case m.all >= 1:
		return ""
	case m.without-m.all > 0.01:
		return fmt.Sprintf("; that NAS is below 1 comes from CR-RTS, which holds jobs back while a rack is congested (%s: %s without it, %s with it)", row, number(m.without), number(m.all))
	case m.mts < 1:
		return fmt.Sprintf("; that NAS is below 1 does not come from CR-RTS: MTS alone has %s, MTS+CA-RTS %s, NAS %s (%s)", number(m.mts), number(m.without), number(m.all), row)
	}
	return "; why NAS is below 1 is not known"
}

// whyThroughput is why the published order of throughput is not found.
func whyThroughput(runs map[string][]nasRun) string {
	why := noCollapse + mechanismsOf(runs, nasThroughput).below()
	if ratio(runs, "sw-delay", "fair", nasThroughput) < 1 {
		why += "; " + heldReduces
	}
	return why
}

// whyCompletion is why NAS falls behind Delay, and SW-delay behind all.
func whyCompletion(runs map[string][]nasRun) string {
	m := mechanismsOf(runs, completion)
	why := "while a rack is congested NAS holds back all jobs but the shuffle-light ones (CR-RTS), and " + heldReduces +
		"; here a full link does as much work as it can, so nothing is won by holding"
	if m.all > m.without {
		why += fmt.Sprintf(". Without CR-RTS completion is shorter: %s of Fair's instead of %s (row \"mechanism by mechanism\")", number(m.without), number(m.all))
	}
	return why
}

// whyCompletionOver is why mean completion over that of base is not what was published.
func whyCompletionOver(runs map[string][]nasRun, base string) string {
	m := mechanismsOf(runs, completion)
	switch {
	case m.all <= m.without:
		return "reason not known"
	case ratio(runs, "nas", base, completion) < 1:
		return fmt.Sprintf("NAS gains on %s, but less than published: holding jobs while a rack is congested costs a part of what MTS wins "+
			"(row \"mechanism by mechanism\": %s of Fair's without CR-RTS, %s with it)", spoken[base], number(m.without), number(m.all))
	}
	return "as for the order of mean completion above: NAS holds jobs while a rack is congested, and nothing is won by it here"
}

// spoken are the names of policies as texts have them.
var spoken = map[string]string{"fair": "Fair", "delay": "Delay", "sw-delay": "SW-delay", "nas": "NAS"}

// ceiling is why the published gain in throughput over base cannot be had on these jobs.
func ceiling(runs map[string][]nasRun, base string, published float64) string {
	most, own := ratio(runs, wideFair, base, nasThroughput), ratio(runs, wideFair, "fair", nasThroughput)
	row := "row \"links a hundred times as wide\""
	if base != "fair" {
		row += fmt.Sprintf(", %s over Fair", number(own))
	}
	why := ""
	switch {
	case most < published:
		why = fmt.Sprintf("the largest of 200 jobs sets the end, and throughput with it: even where no link ever fills, Fair has only %s times the throughput that %s has with the links as they are, less than was published of NAS (%s)", number(most), spoken[base], row)
	case most < 1.1*published:
		why = fmt.Sprintf("the largest of 200 jobs sets the end, and throughput with it: even where no link ever fills, Fair would only just reach this, with %s times the throughput that %s has with the links as they are (%s)", number(most), spoken[base], row)
	}
	switch below := ratio(runs, "nas", base, nasThroughput) < 1; {
	case below && why == "":
		return "as for the order of throughput above"
	case below:
		return why + "; that it is below 1: as for the order of throughput above"
	case why == "":
		return "reason not known"
	}
	return why
}

// whichMechanism says what CR-RTS does to throughput and completion at one scale.
func whichMechanism(runs map[string][]nasRun, scale float64) string {
	t, c := mechanismsOf(runs, nasThroughput), mechanismsOf(runs, completion)
	said := []string{"skew: bytes into the rack that gets most, over the mean"}
	sizes := "With sizes as they are"
	if scale != 1 {
		sizes = fmt.Sprintf("With %g of the sizes", scale)
	}
	if t.without-t.all > 0.02 {
		said = append(said, fmt.Sprintf("%s CR-RTS lowers throughput: from %s of Fair's to %s", sizes, number(t.without), number(t.all)))
	} else {
		said = append(said, fmt.Sprintf("%s CR-RTS hardly changes throughput: %s of Fair's without it, %s with it", sizes, number(t.without), number(t.all)))
	}
	if c.all > c.without {
		said = append(said, fmt.Sprintf("It lengthens completion, from %s of Fair's to %s", number(c.without), number(c.all)))
	}
	if scale == 1 {
		said = append(said, "Tried besides: a congestion threshold that is never reached does as well as no CR-RTS; how long users are made to wait does not matter (0.1 to 5 s)")
	}
	return strings.Join(said, ". ")
}

// whySaved says what placing reduces near map output saves.
func whySaved(ca float64) string {
	saves := fmt.Sprintf("saves only %.2f %%", 100*(1-ca))
	if ca >= 1 {
		saves = "saves nothing"
	}
	return "counted in bytes, putting reduces where the map output lies " + saves + " in this trace: the large jobs have output everywhere"
}

// whyRemote says where SW-delay's bytes differ from NAS's.
func whyRemote(runs map[string][]nasRun) string {
	input := func(name string) string {
		return number(nasMean(runs[name], func(r *nasRun) float64 { return r.traffic.Input / 1e9 }))
	}
	shuffled := func(name string) string {
		return number(nasMean(runs[name], func(r *nasRun) float64 { return r.traffic.Shuffle / 1e9 }))
	}
	return fmt.Sprintf("on average of the runs its maps read %s GB from other racks (under NAS %s GB), and its reduces %s GB (%s GB)", input("sw-delay"), input("nas"), shuffled("sw-delay"), shuffled("nas"))
}

// whyDay is why the order of mean completion over the day is not the published one.
func whyDay(nas, delay, watcher float64, quick bool) string {
	var why []string
	if watcher > 1 {
		why = append(why, heldReduces+", and is slower than Fair")
	}
	if nas < delay && delay < 1 {
		why = append(why, "the others come in the published order: NAS, Delay, Fair")
	} else {
		why = append(why, fmt.Sprintf("of the others NAS has %s and Delay %s, and NAS should be first: reason not known", number(nas), number(delay)))
		if quick {
			why = append(why, "this run has two hours of the day only")
		}
	}
	return strings.Join(why, "; ")
}

// commas prints a whole number with commas between thousands.
func commas(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
