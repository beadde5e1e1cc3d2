package live

import (
	"cmp"
	"slices"
	"time"
)

// A Duel is two commands that take turns. What counts is the median of the ratios within rounds: other work on the
// machine slows both alike.
type Duel struct{ Ours, Theirs []time.Duration }

// Note adds a round.
func (d *Duel) Note(ours, theirs time.Duration) {
	d.Ours, d.Theirs = append(d.Ours, ours), append(d.Theirs, theirs)
}

// Speed returns our speed relative to the other's.
func (d *Duel) Speed() float64 {
	return Median(d.ratios(func(ours, theirs float64) float64 { return theirs / ours }))
}

// Cost returns our time relative to the other's.
func (d *Duel) Cost() float64 {
	return Median(d.ratios(func(ours, theirs float64) float64 { return ours / theirs }))
}

func (d *Duel) ratios(of func(ours, theirs float64) float64) []float64 {
	all := make([]float64, len(d.Ours))
	for i := range d.Ours {
		all[i] = of(float64(d.Ours[i]), float64(d.Theirs[i]))
	}
	return all
}

// Median returns the middle element of a list, which must not be empty.
func Median[T cmp.Ordered](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}
