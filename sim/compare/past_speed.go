package compare

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/trace"
)

// OriginSpeeds returns the speeds of the machines that OriginCluster makes of a history, for sim.Config; nil if they do
// not differ.
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

// speedOf returns the speeds of nodes by name: 1 if OriginSpeeds has none, so that the times stay the same.
func speedOf(o trace.Origin) func(node string) float64 {
	by := map[string]float64{}
	for i, s := range OriginSpeeds(o) {
		by[o.Machines[i].Name] = s
	}
	return func(node string) float64 { return cmp.Or(by[node], 1) }
}

// scaled returns how long a task takes at speed 1 that took d at the given speed.
func scaled(d time.Duration, speed float64) time.Duration {
	if speed == 1 {
		return d
	}
	return time.Duration(float64(d) * speed)
}
