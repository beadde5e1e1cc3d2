package trace

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Quantiles are order statistics of one quantity.
type Quantiles struct {
	Min, P5, P25, Median, P75, P95, P99, Max float64
}

// A Description is what papers quote of a trace.
type Description struct {
	Jobs        int
	First, Last time.Duration // submission
	// Totals in bytes.
	Input, Shuffle, Output int64
	// Quantiles over jobs, bytes; of the gaps, seconds.
	InputQ, ShuffleQ, OutputQ, GapQ Quantiles
	// Maps is the number of map tasks at BlockBytes a block, at least one a job.
	Maps       int64
	BlockBytes int64
	// Reduces are those of all jobs, MostReduces those of the job that has most.
	Reduces, MostReduces int64
	// Shares of all jobs.
	NoShuffle, OneBlock float64
	// Classes as spec/nas 3.2 counts them, MB = 2^20 bytes.
	SmallInput, LargeInput int // below 10 MB, others
	Light, Medium, Heavy   int // shuffle below 1 MB, to 100 MB, above
	// TopShuffle is the share of shuffle bytes of the 100 largest jobs.
	TopShuffle float64
	// Correlations of the logarithms (of 1 + bytes).
	InputShuffle, InputOutput, ShuffleOutput float64
	// Past is what the attempts of a history tell, if it has some.
	Past *PastDescription `json:",omitempty"`
}

const mega = 1 << 20

// Describe computes the statistics of a trace whose jobs become tasks by a shape. The sizes are taken as they are.
func Describe(jobs []Job, s Shape) Description {
	d := Description{Jobs: len(jobs), BlockBytes: s.BlockBytes}
	if len(jobs) == 0 {
		return d
	}
	d.First, d.Last = jobs[0].Submit, jobs[len(jobs)-1].Submit
	for _, j := range jobs {
		d.add(j, s)
	}
	d.NoShuffle /= float64(len(jobs))
	d.OneBlock /= float64(len(jobs))
	in, sh, out := column(jobs, inputOf), column(jobs, shuffleOf), column(jobs, outputOf)
	d.InputShuffle = correlation(logs(in), logs(sh))
	d.InputOutput = correlation(logs(in), logs(out))
	d.ShuffleOutput = correlation(logs(sh), logs(out))
	d.InputQ, d.ShuffleQ, d.OutputQ, d.GapQ = quantiles(in), quantiles(sh), quantiles(out), quantiles(gaps(jobs))
	d.TopShuffle = topShare(sh, 100)
	return d
}

func (d *Description) add(j Job, s Shape) {
	d.Input += j.InputBytes
	d.Shuffle += j.ShuffleBytes
	d.Output += j.OutputBytes
	blocks, reduces := s.Tasks(j)
	d.Reduces, d.MostReduces = d.Reduces+reduces, max(d.MostReduces, reduces)
	d.Maps += blocks
	if blocks == 1 {
		d.OneBlock++
	}
	if j.ShuffleBytes == 0 {
		d.NoShuffle++
	}
	if j.InputBytes < 10*mega {
		d.SmallInput++
	} else {
		d.LargeInput++
	}
	switch {
	case j.ShuffleBytes < mega:
		d.Light++
	case j.ShuffleBytes <= 100*mega:
		d.Medium++
	default:
		d.Heavy++
	}
}

func inputOf(j Job) int64   { return j.InputBytes }
func shuffleOf(j Job) int64 { return j.ShuffleBytes }
func outputOf(j Job) int64  { return j.OutputBytes }

func column(jobs []Job, of func(Job) int64) []float64 {
	out := make([]float64, len(jobs))
	for i, j := range jobs {
		out[i] = float64(of(j))
	}
	return out
}

func gaps(jobs []Job) []float64 {
	out := make([]float64, 0, len(jobs))
	var last time.Duration
	for _, j := range jobs {
		out = append(out, (j.Submit - last).Seconds())
		last = j.Submit
	}
	return out
}

func logs(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log1p(v)
	}
	return out
}

// quantiles sorts a copy and interpolates between order statistics.
func quantiles(x []float64) Quantiles {
	s := slices.Sorted(slices.Values(x))
	at := func(q float64) float64 {
		pos := q * float64(len(s)-1)
		i := int(pos)
		if i+1 >= len(s) {
			return s[len(s)-1]
		}
		return s[i] + (pos-float64(i))*(s[i+1]-s[i])
	}
	return Quantiles{s[0], at(0.05), at(0.25), at(0.5), at(0.75), at(0.95), at(0.99), s[len(s)-1]}
}

func topShare(x []float64, n int) float64 {
	s := slices.SortedFunc(slices.Values(x), func(a, b float64) int { return cmp.Compare(b, a) })
	var top, all float64
	for i, v := range s {
		all += v
		if i < n {
			top += v
		}
	}
	if all == 0 {
		return 0
	}
	return top / all
}

// correlation returns Pearson's; 0 if one side does not vary.
func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var sxy, sxx, syy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		sxy, sxx, syy = sxy+dx*dy, sxx+dx*dx, syy+dy*dy
	}
	if sxx == 0 || syy == 0 {
		return 0
	}
	return sxy / math.Sqrt(sxx*syy)
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v
	}
	return m / float64(len(x))
}
