package hybrid

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid/svm"
	"github.com/millrace/millrace/trace"
)

const (
	trainingTrace   = "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv"
	validationTrace = "FB-2010_samples_24_times_1hr_0.tsv"
)

// public opens a public trace, where the machine has it.
func public(t testing.TB, name string) []trace.Job {
	t.Helper()
	dir := os.Getenv("MILLRACE_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "traces")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skipf("the public traces are not here (set MILLRACE_TRACES): %v", err)
	}
	defer f.Close()
	jobs, err := trace.ReadSWIM(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// sampleOf gives a traced job its task counts (spec/nas 4.1) and its label.
func sampleOf(j trace.Job) Sample {
	s := Sample{Maps: max(int(math.Ceil(float64(j.InputBytes)/blockBytes)), 1), Shuffle: float64(j.ShuffleBytes)}
	if j.ShuffleBytes > 0 {
		s.Reduces = min(max(int(math.Round(float64(j.ShuffleBytes+j.OutputBytes)/(1<<30))), 1), 4800/5)
	}
	s.Small = Rule{Scale: 1}.Small(float64(j.InputBytes), float64(j.ShuffleBytes))
	return s
}

func samples(jobs []trace.Job) []Sample {
	out := make([]Sample, len(jobs))
	for i, j := range jobs {
		out[i] = sampleOf(j)
	}
	return out
}

func (s *Sample) spec(recurring bool) *scheduler.JobSpec {
	return &scheduler.JobSpec{Maps: int32(s.Maps), Reduces: int32(s.Reduces), Shuffle: scheduler.Bytes(int64(s.Shuffle)), Recurring: recurring}
}

// spec/hybrid 2.6(a), effect on FB-2010, and spec/hybrid 5, item 3: 89.4 % of the jobs are
// small; with shuffle 0 the rule errs on 0.8 %, never on a large job.
func TestRuleOnFB2010(t *testing.T) {
	jobs := public(t, validationTrace)
	rule := Rule{Scale: 1}
	small, wrong, input, smallInput := 0, 0, 0.0, 0.0
	for _, j := range jobs {
		in := float64(j.InputBytes)
		is, said := rule.Small(in, float64(j.ShuffleBytes)), rule.Small(in, 0)
		input += in
		if is {
			small++
			smallInput += in
		}
		if is != said {
			wrong++
		}
		if said && !is {
			t.Fatal("a large job is called small without its shuffle size")
		}
	}
	n := float64(len(jobs))
	near(t, "share of small jobs", float64(small)/n, 0.894, 0.0005)
	near(t, "their share of the input", smallInput/input, 0.023, 0.0005)
	near(t, "errors without shuffle sizes", float64(wrong)/n, 0.008, 0.0005)
}

// spec/hybrid 5, item 3: trained on one trace, judged on the other: at least 95 %
// of recurring jobs right (published 96.2), of a half and half mix at least 80 %
// (85.7) and less than that, and no job of unknown shuffle size that is large
// called small. The whole of both traces under MILLRACE_STRESS, else a part.
func TestTrainOnFB2010(t *testing.T) {
	train, judge := samples(public(t, trainingTrace)), samples(public(t, validationTrace))
	cfg := DefaultTrainConfig()
	if os.Getenv("MILLRACE_STRESS") == "" {
		cfg.GridPoints, cfg.FitPoints = 400, 3000
		cfg.Grid.C, cfg.Grid.Gamma, cfg.Grid.Folds = []float64{10, 1000}, []float64{0.1, 1}, 3
	}
	c, found, err := Train(rand.New(rand.NewPCG(1, 1)), train, cfg)
	if err != nil {
		t.Fatal(err)
	}
	right, mixed, unsafe := 0, 0, 0
	for i := range judge {
		s := &judge[i]
		known, _ := c.Classify(s.spec(true))
		unknown, _ := c.Classify(s.spec(false))
		if known == s.Small {
			right++
		}
		if i%2 == 0 && known == s.Small || i%2 == 1 && unknown == s.Small {
			mixed++
		}
		if unknown && !s.Small {
			unsafe++
		}
	}
	all, half := float64(right)/float64(len(judge)), float64(mixed)/float64(len(judge))
	t.Logf("%d support vectors, margin %.3f; cross-validation %.4f, recurring %.4f, half recurring %.4f, unsafe %d", len(c.Model.Coef), c.Margin, found, all, half, unsafe)
	if all < 0.95 || half < 0.80 || half >= all || unsafe != 0 {
		t.Errorf("recurring %.3f (want 0.95), half %.3f (want 0.80 and less than that), %d large jobs called small (want 0)", all, half, unsafe)
	}
}

// drawn are samples without a trace: log-uniform sizes.
func drawn(rng *rand.Rand, n int) []Sample {
	var out []Sample
	for range n {
		in := math.Exp(rng.Float64()*18 + 13) // 0.4 MB to 30 TB
		s := Sample{Maps: max(int(in/blockBytes), 1), Shuffle: in * math.Exp(rng.NormFloat64()-2)}
		s.Reduces = max(int(s.Shuffle/1e9), 1)
		s.Small = Rule{Scale: 1}.Small(in, s.Shuffle)
		out = append(out, s)
	}
	return out
}

func quick() TrainConfig {
	cfg := DefaultTrainConfig()
	cfg.GridPoints, cfg.FitPoints = 200, 600
	cfg.Grid = svm.Grid{C: []float64{1, 100}, Gamma: []float64{0.1, 1}, Folds: 3, Train: svm.DefaultConfig()}
	return cfg
}

func trained(t testing.TB) *Trained {
	t.Helper()
	c, accuracy, err := Train(rand.New(rand.NewPCG(3, 3)), drawn(rand.New(rand.NewPCG(2, 2)), 1500), quick())
	if err != nil {
		t.Fatal(err)
	}
	if accuracy < 0.93 {
		t.Errorf("accuracy in cross-validation %.3f", accuracy)
	}
	return c
}

// Training repeats itself, and its result survives being written and read.
func TestTrainedText(t *testing.T) {
	c := trained(t)
	text, err := c.Text()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := trained(t).Text(); again != text {
		t.Error("the same seed trained another classifier")
	}
	back, err := ParseTrained(text)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for _, s := range drawn(rng, 50) {
		small, f := c.Classify(s.spec(true))
		if got, g := back.Classify(s.spec(true)); got != small || g != f {
			t.Fatalf("%+v: value %g before, %g after", s, f, g)
		}
	}
	p, err := Info.Make(map[string]string{"model": text})
	if err != nil || p.(*Policy).cfg.Classifier.(*Trained).Margin != c.Margin {
		t.Errorf("the parameter did not take the model: %v", err)
	}
}

// spec/hybrid 3.1: above the margin no point flips from small to large as its
// shuffle grows, on a grid that is not the one the margin was found with.
func TestMargin(t *testing.T) {
	c := trained(t)
	if c.Margin < 0 {
		t.Fatalf("margin %g", c.Margin)
	}
	for _, maps := range spaced(1e5, 31) {
		for _, reduces := range spaced(1e3, 9) {
			if f := c.value(maps, reduces, 0); f > c.Margin+0.05 && c.flips(maps, reduces, 1e13, 37) {
				t.Errorf("%.0f maps, %.0f reduces: value %.3f above the margin %.3f flips", maps, reduces, f, c.Margin)
			}
		}
	}
	// A model that flips by construction: one bump of "large" at a shuffle of 1 GB.
	bump := Trained{
		Scaler: svm.Scaler{Mean: make([]float64, 3), Deviation: []float64{1, 1, 1}},
		Model:  svm.Model{Gamma: 0.5, Bias: 0.5, Coef: []float64{-2}, Vectors: [][]float64{{math.Log(11), math.Log(2), math.Log(1e9)}}},
	}
	want := bump.value(10, 1, 0)
	if got := bump.margin([]Sample{{Maps: 10, Reduces: 1, Shuffle: 1e12, Small: true}}, 24); got < want-1e-9 {
		t.Errorf("margin %g lets a flipping point with value %g through", got, want)
	}
}

func TestTrainRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	one := []Sample{{Maps: 1, Small: true}, {Maps: 2, Small: true}}
	for want, f := range map[string]func() error{
		"no samples":   func() error { _, _, err := Train(rng, nil, quick()); return err },
		"both classes": func() error { _, _, err := Train(rng, one, quick()); return err },
		"too few":      func() error { c := quick(); c.FitPoints = 1; _, _, err := Train(rng, one, c); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
	for want, change := range map[string]func(*Config){
		"no classifier": func(c *Config) { c.Classifier = nil },
		"needs a name":  func(c *Config) { c.Up = "" },
		"base":          func(c *Config) { c.Base = "fifo" },
		"key":           func(c *Config) { c.Fair.Key = "colour" },
		"negative":      func(c *Config) { c.Base, c.Patience.Skips = "delay", -1 },
	} {
		c := DefaultConfig()
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// Whatever text is given as a model: an error, or a classifier that gives finite
// values.
func FuzzParseTrained(f *testing.F) {
	text, err := trained(f).Text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text[:min(len(text), 400)])
	f.Add(`{"Scaler":{"Mean":[0,0,0],"Deviation":[1,1,1]},"Model":{"Gamma":1,"Bias":0.5,"Coef":[1],"Vectors":[[0,0,0]]},"Margin":0}`)
	f.Add(`{"Scaler":{"Mean":[0,0,0],"Deviation":[1,1,0]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseTrained(text)
		if err != nil {
			return
		}
		if _, v := c.Classify(&scheduler.JobSpec{Maps: 5, Reduces: 1, Shuffle: scheduler.Bytes(9), Recurring: true}); math.IsNaN(v) {
			t.Errorf("value %g", v)
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	c := trained(b)
	s := (&Sample{Maps: 100, Reduces: 3, Shuffle: 1e9}).spec(true)
	for b.Loop() {
		c.Classify(s)
	}
}

// The margin also keeps large jobs of the training trace out.
func TestMarginOfTrainingJobs(t *testing.T) {
	flat := Trained{
		Scaler: svm.Scaler{Mean: make([]float64, 3), Deviation: []float64{1, 1, 1}},
		Model:  svm.Model{Gamma: 1, Bias: 0.7},
	}
	large := []Sample{{Maps: 10, Reduces: 1, Shuffle: 5}}
	if got := flat.margin(large, 4); got != 0.7 {
		t.Errorf("margin %g, want the 0.7 that the large job has", got)
	}
	large[0].Small = true
	if got := flat.margin(large, 4); got != 0 {
		t.Errorf("margin %g although nothing is wrong", got)
	}
}

// A part drawn has both classes in proportion, rounded up.
func TestStratified(t *testing.T) {
	all := make([]Sample, 1000)
	for i := range all {
		all[i] = Sample{Maps: i, Small: i%100 != 0} // 10 large
	}
	for seed := range uint64(8) {
		var count [2]int
		for _, s := range stratified(rand.New(rand.NewPCG(seed, 1)), all, 100) {
			count[label(s)]++
		}
		if count != [2]int{1, 99} {
			t.Errorf("drew %d large and %d small of 10 and 990, want 1 and 99", count[0], count[1])
		}
	}
}

// TestMarginOfNarrowKernel: a kernel so narrow that far from all jobs the classifier says its constant must not make all
// jobs of unknown shuffle size large: none with one map shuffles terabytes, and none without reduces shuffles at all.
func TestMarginOfNarrowKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var samples []Sample
	for range 100 {
		small := Sample{Maps: 1 + rng.IntN(20), Reduces: rng.IntN(3), Small: true}
		if small.Reduces > 0 {
			small.Shuffle = float64(rng.IntN(1 << 30))
		}
		samples = append(samples, small)
		for range 5 {
			samples = append(samples, Sample{Maps: 200 + rng.IntN(20_000), Reduces: 5 + rng.IntN(500), Shuffle: math.Exp(20 + 12*rng.Float64())})
		}
	}
	cfg := DefaultTrainConfig()
	cfg.Grid.C, cfg.Grid.Gamma = []float64{1000}, []float64{10}
	c, _, err := Train(rng, samples, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if s.Small && s.Reduces > 0 {
			continue // a narrow kernel knows nothing of such a job without its shuffle size
		}
		spec := &scheduler.JobSpec{Maps: int32(s.Maps), Reduces: int32(s.Reduces)}
		if small, f := c.Classify(spec); small != s.Small {
			t.Fatalf("%+v of unknown shuffle size is called small: %v (value %g, margin %g)", s, small, f, c.Margin)
		}
	}
}
