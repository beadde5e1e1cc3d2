package svm

import "math"

// solver minimises a'Qa/2 - e'a subject to y'a = 0 and 0 <= a <= C, where
// Q_ij = y_i*y_j*K(x_i,x_j), two variables at a time.
type solver struct {
	cfg   Config
	x     [][]float64
	y     []float64
	alpha []float64
	grad  []float64 // Qa - e
	rows  rowCache
}

func newSolver(x [][]float64, y []int8, cfg Config) *solver {
	s := &solver{cfg: cfg, x: x, y: make([]float64, len(x)), alpha: make([]float64, len(x)), grad: make([]float64, len(x))}
	for i := range x {
		s.y[i], s.grad[i] = float64(y[i]), -1
	}
	s.rows = rowCache{gamma: cfg.Gamma, x: x, limit: cfg.CacheRows, at: make([]int32, len(x))}
	return s
}

// tiny stands in for a curvature that rounding made zero or less.
const tiny = 1e-12

func (s *solver) solve() {
	limit := s.cfg.MaxSteps
	if limit == 0 {
		limit = DefaultConfig().MaxSteps
	}
	for range limit {
		i, j, ok := s.pair()
		if !ok {
			return
		}
		s.step(i, j)
	}
}

// up reports whether alpha_t may move so that y_t*alpha_t grows.
func (s *solver) up(t int) bool {
	if s.y[t] > 0 {
		return s.alpha[t] < s.cfg.C
	}
	return s.alpha[t] > 0
}

// down reports whether y_t*alpha_t may fall.
func (s *solver) down(t int) bool {
	if s.y[t] > 0 {
		return s.alpha[t] > 0
	}
	return s.alpha[t] < s.cfg.C
}

// pair chooses the point that violates optimality most, and for it the one that
// lowers the objective most; ok is false when none violates it by more than the
// tolerance.
func (s *solver) pair() (i, j int, ok bool) {
	i, j = -1, -1
	most, least := math.Inf(-1), math.Inf(1)
	for t := range s.alpha {
		if v := -s.y[t] * s.grad[t]; s.up(t) && v > most {
			i, most = t, v
		}
	}
	if i < 0 {
		return 0, 0, false
	}
	row, best := s.rows.row(i), math.Inf(1)
	for t := range s.alpha {
		if !s.down(t) {
			continue
		}
		v := -s.y[t] * s.grad[t]
		least = min(least, v)
		if gap := most - v; gap > 0 {
			if gain := -gap * gap / max(2-2*row[t], tiny); gain < best {
				j, best = t, gain
			}
		}
	}
	return i, j, j >= 0 && most-least > s.cfg.Tolerance
}

// step optimises the pair and keeps the gradient true.
func (s *solver) step(i, j int) {
	ri, rj := s.rows.row(i), s.rows.row(j)
	// Along the direction in which y_i*alpha_i grows and y_j*alpha_j falls alike.
	move := (-s.y[i]*s.grad[i] + s.y[j]*s.grad[j]) / max(2-2*ri[j], tiny)
	move = min(move, s.room(i, s.y[i]), s.room(j, -s.y[j]))
	s.alpha[i] = s.clip(s.alpha[i] + s.y[i]*move)
	s.alpha[j] = s.clip(s.alpha[j] - s.y[j]*move)
	for t := range s.grad {
		s.grad[t] += s.y[t] * move * (ri[t] - rj[t])
	}
}

// room returns how far alpha_t can move in the direction of sign.
func (s *solver) room(t int, sign float64) float64 {
	if sign > 0 {
		return s.cfg.C - s.alpha[t]
	}
	return s.alpha[t]
}

// clip puts a weight that rounding left beside a bound on it.
func (s *solver) clip(a float64) float64 {
	if edge := s.cfg.C * 1e-14; a < edge {
		return 0
	} else if a > s.cfg.C-edge {
		return s.cfg.C
	}
	return a
}

// rho returns the threshold: the mean of y*grad over free points, or the middle of what the bound ones allow.
func (s *solver) rho() float64 {
	low, high, sum, free := math.Inf(-1), math.Inf(1), 0.0, 0
	for t := range s.alpha {
		v := s.y[t] * s.grad[t]
		switch up, down := s.up(t), s.down(t); {
		case up && down:
			sum += v
			free++
		case up:
			high = min(high, v)
		default:
			low = max(low, v)
		}
	}
	if free > 0 {
		return sum / float64(free)
	}
	return (low + high) / 2
}

// rowCache keeps the rows of the kernel matrix that were used last.
type rowCache struct {
	gamma float64
	x     [][]float64
	limit int
	at    []int32 // by point: its slot + 1, or 0
	slots []cacheRow
	clock int64
}

type cacheRow struct {
	point  int
	used   int64
	values []float64
}

// row returns K(x_i, x_t) for all t. It is valid until two further rows were
// asked for.
func (c *rowCache) row(i int) []float64 {
	c.clock++
	if s := c.at[i]; s > 0 {
		c.slots[s-1].used = c.clock
		return c.slots[s-1].values
	}
	s := c.slot()
	r := &c.slots[s]
	r.point, r.used = i, c.clock
	c.at[i] = int32(s) + 1
	for t := range c.x {
		r.values[t] = kernel(c.gamma, c.x[i], c.x[t])
	}
	return r.values
}

// slot returns a free slot, or that of the row not used for longest.
func (c *rowCache) slot() int {
	if len(c.slots) < c.limit {
		c.slots = append(c.slots, cacheRow{values: make([]float64, len(c.x))})
		return len(c.slots) - 1
	}
	oldest := 0
	for s := range c.slots {
		if c.slots[s].used < c.slots[oldest].used {
			oldest = s
		}
	}
	c.at[c.slots[oldest].point] = 0
	return oldest
}
