package compare

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/trace"
)

// OriginSpeeds are those of the machines that OriginCluster makes of a history, for sim.Config; nil if it knows of no differences.
func OriginSpeeds(o trace.Origin) []float64 {
	if len(o.Machines) != o.Nodes || !slices.ContainsFunc(o.Machines, func(m trace.Machine) bool { return m.Speed != 0 }) {
		return nil
	}
	out := make([]float64, len(o.Machines))
	for i, m := range o.Machines {
		out[i] = cmp.Or(m.Speed, 1)
	}
	return out
}

// speedOf tells the speed of a node by its name: 1 where OriginSpeeds knows of none, as the times then stay what they are.
func speedOf(o trace.Origin) func(node string) float64 {
	by := map[string]float64{}
	for i, s := range OriginSpeeds(o) {
		by[o.Machines[i].Name] = s
	}
	return func(node string) float64 { return cmp.Or(by[node], 1) }
}

// scaled is how long what took d on a machine of a speed takes on one of speed 1.
func scaled(d time.Duration, speed float64) time.Duration {
	if speed == 1 {
		return d
	}
	return time.Duration(float64(d) * speed)
}
