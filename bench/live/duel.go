package live

import (
	"cmp"
	"slices"
	"time"
)

// A Duel is two commands that take turns. What counts is the median of the ratios of neighbours:
// other work on the machine then slows both.
type Duel struct{ Ours, Theirs []time.Duration }

// Note adds a round.
func (d *Duel) Note(ours, theirs time.Duration) {
	d.Ours, d.Theirs = append(d.Ours, ours), append(d.Theirs, theirs)
}

// Speed is how fast we are, measured in what the other is.
func (d *Duel) Speed() float64 {
	return Median(d.ratios(func(ours, theirs float64) float64 { return theirs / ours }))
}

// Cost is how much we take, measured in what the other takes.
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

// Median is the middle one of a list that is not empty.
func Median[T cmp.Ordered](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}
