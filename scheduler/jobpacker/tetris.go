package jobpacker

import "slices"

// A Demand is what a job wants of a sub-batch: shuffle bytes, maps and reduces.
type Demand [3]float64

// Score is the Tetris score: the dot product of what is available and what is
// demanded. The job that uses most of what a sub-batch has left scores highest
// (spec/jobpacker 2.4).
func Score(available, demand Demand) (score float64) {
	for i := range available {
		score += available[i] * demand[i]
	}
	return score
}

// slack absorbs rounding when parts are added up to a whole.
const slack = 1e-9

func (d Demand) fits(room Demand) bool {
	for i := range d {
		if d[i] > room[i]+slack {
			return false
		}
	}
	return true
}

func (d Demand) sum() float64 { return d[0] + d[1] + d[2] }

// SubBatches splits jobs into b groups with similar total demand and returns
// the indices of each (spec/jobpacker 3.6, batch, step 1). One group is the whole
// batch: Corral's order.
func SubBatches(demands []Demand, b int) [][]int {
	part := 1 / float64(b)
	s := splitter{jobs: normalise(demands), whole: Demand{part, part, part}, room: make([]Demand, b), out: make([][]int, b)}
	for i := range s.room {
		s.room[i] = s.whole
	}
	for i := range demands {
		s.left = append(s.left, i)
	}
	s.giants()
	for len(s.left) > 0 {
		fitted := false
		for at := range s.room {
			if best := s.best(at); best >= 0 {
				s.give(best, at)
				fitted = true
			}
		}
		if !fitted {
			i := s.largest()
			s.give(i, s.roomiest(i))
		}
	}
	return s.out
}

// giants first gives away the jobs that will never fit: those above 1/b of some dimension. The group of such a job then
// fills up with what still fits beside it.
func (s *splitter) giants() {
	for {
		at := -1
		for i, j := range s.left {
			if !s.jobs[j].fits(s.whole) && (at < 0 || s.jobs[j].sum() > s.jobs[s.left[at]].sum()) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		s.give(at, s.roomiest(at))
	}
}

// normalise divides each dimension by its total over all jobs.
func normalise(demands []Demand) []Demand {
	var total Demand
	for _, d := range demands {
		for i := range d {
			total[i] += d[i]
		}
	}
	out := slices.Clone(demands)
	for j := range out {
		for i := range total {
			if total[i] > 0 {
				out[j][i] /= total[i]
			}
		}
	}
	return out
}

type splitter struct {
	jobs  []Demand
	left  []int  // jobs not given yet, ascending
	whole Demand // what an empty group has
	room  []Demand
	out   [][]int
}

// best returns the place in left of the job that fits group at and scores
// highest, or -1.
func (s *splitter) best(at int) int {
	best, score := -1, -1.0
	for i, j := range s.left {
		if d := s.jobs[j]; d.fits(s.room[at]) {
			if sc := Score(s.room[at], d); sc > score {
				best, score = i, sc
			}
		}
	}
	return best
}

// give moves the i-th job left to group at.
func (s *splitter) give(i, at int) {
	j := s.left[i]
	s.left = slices.Delete(s.left, i, i+1)
	s.out[at] = append(s.out[at], j)
	for d := range s.room[at] {
		s.room[at][d] -= s.jobs[j][d]
	}
}

func (s *splitter) largest() (best int) {
	for i, j := range s.left {
		if s.jobs[j].sum() > s.jobs[s.left[best]].sum() {
			best = i
		}
	}
	return best
}

// roomiest returns the group with most room for the i-th job left: where the
// dimension that becomes tightest is least tight.
func (s *splitter) roomiest(i int) (best int) {
	room := func(at int) float64 {
		d, r := s.jobs[s.left[i]], s.room[at]
		return min(r[0]-d[0], r[1]-d[1], r[2]-d[2])
	}
	for at := range s.room {
		if room(at) > room(best) {
			best = at
		}
	}
	return best
}
