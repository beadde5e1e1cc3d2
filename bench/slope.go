package bench

import (
	"context"
	"fmt"
	"math"
)

// A Slope says how cost grows with input: the exponent of a power law fitted by least squares on logarithms. 1 is
// linear. CPU time is the cost of the engine. Wall time includes the disk, which is slower once more is written than
// the system buffers.
type Slope struct {
	Job       string    `json:"job"`
	Bytes     []int64   `json:"bytes"`
	Wall      []float64 `json:"wall_s"`
	CPU       []float64 `json:"cpu_s"`
	Slope     float64   `json:"slope"` // of CPU time
	WallSlope float64   `json:"wall_slope"`
	Must      float64   `json:"must"`
	Passed    bool      `json:"passed"`
}

// MeasureSlope runs a job over inputs from a quarter to four times the set-up's size.
func MeasureSlope(ctx context.Context, s Setup, job string) (Slope, error) {
	s = s.withDefaults()
	out := Slope{Job: job, Must: 1.10}
	kind := text
	if job == "terasort" {
		kind = rows
	}
	for _, size := range []int64{s.Size / 4, s.Size / 2, s.Size, 2 * s.Size, 4 * s.Size} {
		in := s.file(kind, size)
		if err := s.prepare(ctx, in); err != nil {
			return out, err
		}
		var best Sample
		for range s.Rounds {
			m, err := measure(ctx, s.run(job, "--input", in, "--memory", "256MiB"), s.Dir)
			if err != nil {
				return out, fmt.Errorf("slope of %s: %w", job, err)
			}
			best.best(m)
		}
		out.Bytes = append(out.Bytes, size)
		out.Wall, out.CPU = append(out.Wall, best.Wall.Seconds()), append(out.CPU, best.CPU.Seconds())
	}
	out.Slope, out.WallSlope = fit(out.Bytes, out.CPU), fit(out.Bytes, out.Wall)
	out.Passed = out.Slope <= out.Must
	return out, nil
}

// fit returns the slope of log y over log x.
func fit(x []int64, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	n := float64(len(x))
	for i := range x {
		lx, ly := math.Log(float64(x[i])), math.Log(y[i])
		sx, sy, sxx, sxy = sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
