package svm

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func config(c, gamma float64) Config {
	cfg := DefaultConfig()
	cfg.C, cfg.Gamma, cfg.Tolerance = c, gamma, 1e-9
	return cfg
}

// Two points have a closed solution: both weights are min(C, 1/(1-K)), and the
// boundary is half-way.
func TestTwoPoints(t *testing.T) {
	for _, c := range []float64{0.5, 100} {
		m, err := Train([][]float64{{0}, {2}}, []int8{1, -1}, config(c, 0.3))
		if err != nil {
			t.Fatal(err)
		}
		want := min(c, 1/(1-math.Exp(-0.3*4)))
		if math.Abs(m.Coef[0]-want) > 1e-9 || math.Abs(m.Coef[1]+want) > 1e-9 {
			t.Errorf("C = %g: weights %v, want +-%g", c, m.Coef, want)
		}
		if f := m.Decision([]float64{1}); math.Abs(f) > 1e-9 {
			t.Errorf("C = %g: f half-way is %g", c, f)
		}
		if n := m.Norm(); math.Abs(n-want*math.Sqrt(2-2*math.Exp(-1.2))) > 1e-9 {
			t.Errorf("C = %g: |w| = %g", c, n)
		}
	}
}

// The corners of a square in two classes by diagonal: no line separates them,
// the kernel does, and by symmetry all weights are equal: a*(1+K(diagonal)-
// 2*K(side)) = 1.
func TestExclusiveOr(t *testing.T) {
	x := [][]float64{{0, 0}, {1, 1}, {0, 1}, {1, 0}}
	m, err := Train(x, []int8{1, 1, -1, -1}, config(1000, 1))
	if err != nil {
		t.Fatal(err)
	}
	want := 1 / (1 + math.Exp(-2) - 2*math.Exp(-1))
	for i, c := range m.Coef {
		if math.Abs(math.Abs(c)-want) > 1e-6 {
			t.Errorf("weight %d is %g, want %g", i, c, want)
		}
	}
	if f := m.Decision([]float64{0.5, 0.5}); math.Abs(f) > 1e-6 {
		t.Errorf("f in the middle is %g", f)
	}
}

// draw returns a random set of n points in two dimensions with both classes.
func draw(t *rapid.T, n int) (x [][]float64, y []int8) {
	for i := range n {
		x = append(x, []float64{rapid.Float64Range(-3, 3).Draw(t, "x"), rapid.Float64Range(-3, 3).Draw(t, "y")})
		y = append(y, rapid.SampledFrom([]int8{-1, 1}).Draw(t, "class"))
		if i == 1 {
			y[1] = -y[0]
		}
	}
	return x, y
}

// Whatever the points, the solution satisfies the Karush-Kuhn-Tucker conditions.
func TestOptimality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := draw(t, rapid.IntRange(2, 40).Draw(t, "n"))
		cfg := config(rapid.SampledFrom([]float64{0.1, 1, 50}).Draw(t, "C"), rapid.SampledFrom([]float64{0.05, 1, 5}).Draw(t, "gamma"))
		cfg.Tolerance, cfg.CacheRows = 1e-6, rapid.IntRange(2, 8).Draw(t, "rows")
		s := newSolver(x, y, cfg)
		s.solve()
		m, err := Train(x, y, cfg)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, a := range s.alpha {
			sum += a * s.y[i]
			margin := s.y[i] * m.Decision(x[i])
			if a < 0 || a > cfg.C || a == 0 && margin < 1-1e-5 || a == cfg.C && margin > 1+1e-5 || a > 0 && a < cfg.C && math.Abs(margin-1) > 1e-5 {
				t.Fatalf("point %d: weight %g of %g, margin %g", i, a, cfg.C, margin)
			}
		}
		if math.Abs(sum) > 1e-9*cfg.C*float64(len(x)) {
			t.Fatalf("sum of y*alpha is %g", sum)
		}
	})
}

// On tiny sets the objective is that of the best among all ways to put each
// weight at 0, at C or in between, solved exactly.
func TestAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := draw(t, rapid.IntRange(2, 5).Draw(t, "n"))
		cfg := config(rapid.SampledFrom([]float64{0.3, 2, 20}).Draw(t, "C"), rapid.SampledFrom([]float64{0.1, 1}).Draw(t, "gamma"))
		s := newSolver(x, y, cfg)
		s.solve()
		got, want := objective(s, s.alpha), enumerate(s)
		if math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Fatalf("objective %g, the best is %g", got, want)
		}
	})
}

func objective(s *solver, alpha []float64) (f float64) {
	for i := range alpha {
		f -= alpha[i]
		for j := range alpha {
			f += 0.5 * alpha[i] * alpha[j] * s.y[i] * s.y[j] * kernel(s.cfg.Gamma, s.x[i], s.x[j])
		}
	}
	return f
}

// enumerate tries 3^n assignments.
func enumerate(s *solver) float64 {
	n, best := len(s.x), 0.0 // all zero is feasible
	state := make([]int, n)
	for {
		if a, ok := solveFree(s, state); ok {
			best = min(best, objective(s, a))
		}
		i := 0
		for ; i < n && state[i] == 2; i++ {
			state[i] = 0
		}
		if i == n {
			return best
		}
		state[i]++
	}
}

// solveFree solves for the weights in state 2, given those at 0 and at C (state
// 1): Q_FF a_F + b y_F = 1 - Q_FC C, y_F a_F = -y_C C.
func solveFree(s *solver, state []int) ([]float64, bool) {
	n := len(state)
	alpha := make([]float64, n)
	var free []int
	for i, st := range state {
		switch st {
		case 1:
			alpha[i] = s.cfg.C
		case 2:
			free = append(free, i)
		}
	}
	q := func(i, j int) float64 { return s.y[i] * s.y[j] * kernel(s.cfg.Gamma, s.x[i], s.x[j]) }
	size := len(free) + 1
	m := make([][]float64, size)
	for r := range m {
		m[r] = make([]float64, size+1)
	}
	for r, i := range free {
		m[r][size] = 1
		for c, j := range free {
			m[r][c] = q(i, j)
		}
		for j := range alpha {
			m[r][size] -= q(i, j) * alpha[j]
		}
		m[r][size-1], m[size-1][r] = s.y[i], s.y[i]
	}
	for j := range alpha {
		m[size-1][size] -= s.y[j] * alpha[j]
	}
	if len(free) == 0 {
		return alpha, math.Abs(m[0][1]) < 1e-12
	}
	sol, ok := gauss(m)
	for r, i := range free {
		if !ok || sol[r] < -1e-9 || sol[r] > s.cfg.C+1e-9 {
			return nil, false
		}
		alpha[i] = sol[r]
	}
	return alpha, ok
}

func gauss(m [][]float64) ([]float64, bool) {
	n := len(m)
	for c := range n {
		p := c
		for r := c + 1; r < n; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[p][c]) {
				p = r
			}
		}
		if math.Abs(m[p][c]) < 1e-10 {
			return nil, false
		}
		m[c], m[p] = m[p], m[c]
		for r := range n {
			if r == c {
				continue
			}
			f := m[r][c] / m[c][c]
			for k := c; k <= n; k++ {
				m[r][k] -= f * m[c][k]
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = m[i][n] / m[i][i]
	}
	return out, true
}

// rings are two noisy circles, one inside the other.
func rings(rng *rand.Rand, n int) (x [][]float64, y []int8) {
	for i := range n {
		r, class := 1.0, int8(1)
		if i%2 == 0 {
			r, class = 2.5, -1
		}
		a := rng.Float64() * 2 * math.Pi
		r += rng.NormFloat64() * 0.2
		x, y = append(x, []float64{r * math.Cos(a), r * math.Sin(a)}), append(y, class)
	}
	return x, y
}

func TestSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := rings(rng, 200)
	g := DefaultGrid()
	cfg, acc, err := Search(rng, x, y, g)
	if err != nil || acc < 0.97 || !slices.Contains(g.C, cfg.C) || !slices.Contains(g.Gamma, cfg.Gamma) {
		t.Fatalf("C %g, gamma %g: accuracy %.3f, error %v", cfg.C, cfg.Gamma, acc, err)
	}
	m, err := Train(x, y, cfg)
	if err != nil {
		t.Fatal(err)
	}
	vx, vy := rings(rng, 1000)
	if a := m.Accuracy(vx, vy); a < 0.97 {
		t.Errorf("accuracy on new points %.3f", a)
	}
	again, _, _ := Search(rand.New(rand.NewPCG(9, 9)), x, y, g)
	once, _, _ := Search(rand.New(rand.NewPCG(9, 9)), x, y, g)
	if again != once {
		t.Error("the same seed gave another choice")
	}
}

func TestScaler(t *testing.T) {
	s := FitScaler([][]float64{{0, 5}, {math.E - 1, 5}})
	if got := s.Scale(0, 5); math.Abs(got[0]+1) > 1e-12 || got[1] != 0 {
		t.Errorf("scaled to %v, want [-1 0]", got)
	}
}

func TestRefuses(t *testing.T) {
	good, classes := [][]float64{{0}, {1}}, []int8{1, -1}
	for want, f := range map[string]func() error{
		"classes":      func() error { _, err := Train(good, classes[:1], DefaultConfig()); return err },
		"both classes": func() error { _, err := Train(good, []int8{1, 1}, DefaultConfig()); return err },
		"+1 or -1":     func() error { _, err := Train(good, []int8{1, 0}, DefaultConfig()); return err },
		"not finite":   func() error { _, err := Train([][]float64{{0}, {math.NaN()}}, classes, DefaultConfig()); return err },
		"features":     func() error { _, err := Train([][]float64{{0}, {1, 2}}, classes, DefaultConfig()); return err },
		"C is":         func() error { _, err := Train(good, classes, config(0, 1)); return err },
		"gamma is":     func() error { _, err := Train(good, classes, config(1, -1)); return err },
		"folds need": func() error {
			_, _, err := Search(rand.New(rand.NewPCG(1, 1)), good, classes, DefaultGrid())
			return err
		},
		"as many points of each class; there are 2 and 8": func() error {
			x, y := slices.Repeat([][]float64{{0}, {1}}, 5), []int8{1, 1, 1, 1, 1, 1, 1, 1, -1, -1}
			_, _, err := Search(rand.New(rand.NewPCG(1, 1)), x, y, DefaultGrid())
			return err
		},
		"empty": func() error { _, _, err := Search(nil, good, classes, Grid{Folds: 5}); return err },
		"at least 2": func() error {
			_, _, err := Search(nil, good, classes, Grid{C: []float64{1}, Gamma: []float64{1}})
			return err
		},
		"support vector 0 has": func() error {
			return (&Model{Gamma: 1, Coef: []float64{1}, Vectors: [][]float64{{1}}}).Validate(2)
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

func BenchmarkTrain(b *testing.B) {
	for _, n := range []int{500, 2000} {
		x, y := rings(rand.New(rand.NewPCG(1, 1)), n)
		b.Run(map[int]string{500: "500points", 2000: "2000points"}[n], func(b *testing.B) {
			for b.Loop() {
				if _, err := Train(x, y, DefaultConfig()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A model that came from outside is taken when all in it is finite and fits together; a training of parameters that mean nothing is refused.
func TestOutsideModels(t *testing.T) {
	good := func() *Model {
		return &Model{Gamma: 1, Bias: 0.5, Coef: []float64{1, -1}, Vectors: [][]float64{{0, 1}, {1, 0}}}
	}
	for _, tt := range []struct {
		change func(*Model)
		want   string
	}{
		{func(*Model) {}, ""},
		{func(m *Model) { m.Gamma = 0 }, "gamma 0"},
		{func(m *Model) { m.Gamma = math.NaN() }, "gamma NaN"},
		{func(m *Model) { m.Gamma = math.Inf(1) }, "gamma +Inf"},
		{func(m *Model) { m.Bias = math.NaN() }, "bias NaN"},
		{func(m *Model) { m.Bias = math.Inf(-1) }, "bias -Inf"},
		{func(m *Model) { m.Coef = m.Coef[:1] }, "1 coefficients for 2 support vectors"},
		{func(m *Model) { m.Vectors[1] = []float64{1} }, "support vector 1 has 1 features, want 2"},
		{func(m *Model) { m.Vectors[1][1] = math.NaN() }, "support vector 1 is not finite"},
		{func(m *Model) { m.Vectors[0][0] = math.Inf(1) }, "support vector 0 is not finite"},
		{func(m *Model) { m.Coef[1] = math.Inf(-1) }, "support vector 1 is not finite"},
	} {
		m := good()
		tt.change(m)
		if err := m.Validate(2); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	x, y := [][]float64{{0}, {1}}, []int8{-1, 1}
	for want, change := range map[string]func(*Config){
		"the bound C is 0": func(c *Config) { c.C = 0 }, "the bound C is +Inf": func(c *Config) { c.C = math.Inf(1) },
		"gamma is 0": func(c *Config) { c.Gamma = 0 }, "gamma is +Inf": func(c *Config) { c.Gamma = math.Inf(1) },
		"tolerance is 0": func(c *Config) { c.Tolerance = 0 }, "tolerance is NaN": func(c *Config) { c.Tolerance = math.NaN() },
		"the steps": func(c *Config) { c.MaxSteps = -1 }, "two rows": func(c *Config) { c.CacheRows = 1 },
	} {
		c := DefaultConfig()
		change(&c)
		if m, err := Train(x, y, c); m != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	c := DefaultConfig()
	c.MaxSteps, c.CacheRows = 0, 2
	m, err := Train(x, y, c)
	if err != nil || m.Accuracy(x, y) != 1 || m.Accuracy(x, []int8{1, -1}) != 0 || m.Accuracy(x, []int8{1, 1}) != 0.5 || m.Accuracy(nil, nil) != 0 {
		t.Errorf("two points: %+v, %v", m, err)
	}
}
