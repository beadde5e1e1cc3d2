package cli

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mostArms bounds the policies that one run compares.
const mostArms = 500

// sweptKeys are the keys of a scenario file that may be ranges.
var sweptKeys = []string{
	"nodes", "racks", "containers", "map_slots", "reduce_slots", "heartbeat", "per_heartbeat", "uplink", "nic", "circuit", "write_copies", "scale", "load", "arrivals",
	"task_overhead", "noise", "users", "slowstart", "driver_start", "copies", "stragglers.share", "stragglers.factor",
}

// swept returns an arm for each combination of values of the parameters that are ranges: "0.1..0.5 by 0.1".
func (a arm) swept() ([]arm, error) {
	out := []arm{a}
	for _, of := range []func(*arm) *map[string]string{
		func(a *arm) *map[string]string { return &a.params },
		func(a *arm) *map[string]string { return &a.admitParams },
	} {
		for _, name := range slices.Sorted(maps.Keys(*of(&a))) {
			values, err := sweep((*of(&a))[name])
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", name, a.name, err)
			}
			if values == nil {
				continue
			}
			if len(out)*len(values) > mostArms {
				return nil, fmt.Errorf("%s of %s: %d policies would be compared, at most %d; take larger steps", name, a.name, len(out)*len(values), mostArms)
			}
			var next []arm
			for _, one := range out {
				for _, v := range values {
					b := one
					b.name += " " + name + "=" + v
					*of(&b) = maps.Clone(*of(&one))
					(*of(&b))[name] = v
					next = append(next, b)
				}
			}
			out = next
		}
	}
	return out, nil
}

// sweep returns the values of "LOW..HIGH by STEP", or nil if text is not a range.
func sweep(text string) ([]string, error) {
	return sweepOf(text, "0.1..0.5 by 0.1", "", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

// sweepTimes is sweep for times: "1s..5s by 2s".
func sweepTimes(text string) ([]string, error) {
	return sweepOf(text, "1s..5s by 1s", "s", func(s string) (float64, error) {
		d, err := time.ParseDuration(s)
		return d.Seconds(), err
	})
}

func sweepOf(text, example, unit string, parse func(string) (float64, error)) ([]string, error) {
	bounds, by, ok := strings.Cut(text, " by ")
	low, high, dotted := strings.Cut(bounds, "..")
	if !ok && !dotted {
		return nil, nil
	}
	var v [3]float64
	for i, s := range []string{low, high, by} {
		n, err := parse(strings.TrimSpace(s))
		if err != nil || math.Abs(n) > 1e12 {
			return nil, fmt.Errorf("%q is no range: write LOW..HIGH by STEP, such as %s", text, example)
		}
		v[i] = n
	}
	steps := math.Floor((v[1]-v[0])/v[2] + 1e-9)
	switch {
	case !(v[2] > 0) || !(steps >= 0):
		return nil, fmt.Errorf("%q is no range: the step must be above 0 and the end not below the beginning", text)
	case steps >= mostArms:
		return nil, fmt.Errorf("%q has %.0f values, at most %d; take larger steps", text, steps+1, mostArms)
	}
	out := make([]string, int(steps)+1)
	for i := range out {
		x := v[0] + float64(i)*v[2]
		out[i] = strconv.FormatFloat(math.Round(x*1e9)/1e9, 'f', -1, 64) + unit
	}
	return out, nil
}
