package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// ContentionConfig is the cost profile of spec/marp Appendix A: all nodes are containers on
// one machine and share its hardware threads and its one disk. The values are a
// calibration made there, not a finding of the source.
type ContentionConfig struct {
	Threads float64       `yaml:"threads" help:"hardware threads of the one machine"`
	Disk    float64       `yaml:"disk" help:"what the disk can do, in reduces that run alone"` // D
	Beta    float64       `yaml:"beta" help:"what each further reduce takes from the disk"`
	Gamma   float64       `yaml:"gamma" help:"what maps on all threads take from the disk"`
	Latency time.Duration `yaml:"latency" help:"from the launch of a container to its first work"`
	Noise   float64       `yaml:"noise" help:"standard deviation of the idle percentage"`
}

// Validate refuses a machine that would never end a task.
func (c *ContentionConfig) Validate() error {
	if !(c.Threads >= 0.01 && c.Threads <= 1e6 && c.Disk >= 0.01 && c.Disk <= 1e6) {
		return fmt.Errorf("threads %g and disk %g must be 0.01 to 1000000", c.Threads, c.Disk)
	}
	if !(c.Beta >= 0 && c.Beta <= 1e3 && c.Gamma >= 0 && c.Gamma <= 1e3 && c.Noise >= 0 && c.Noise <= 100) || c.Latency < 0 {
		return fmt.Errorf("beta %g, gamma %g, noise %g, latency %v: none may be negative, beta and gamma at most 1000, noise 100", c.Beta, c.Gamma, c.Noise, c.Latency)
	}
	return nil
}

// DefaultContention is the fitted profile.
func DefaultContention() ContentionConfig {
	return ContentionConfig{Threads: 16, Disk: 4.6, Beta: 0.68, Gamma: 2.5, Latency: 3500 * time.Millisecond, Noise: 2}
}

// contention moves two virtual clocks, one for maps and one for reduces, at the speed that one such task gets of the
// machine. A task ends when its clock has moved by its work.
type contention struct {
	cfg ContentionConfig
	rng *rand.Rand

	now      time.Duration
	clock    [2]float64 // by kind, seconds of work done by each task that runs
	rate     [2]float64
	begin    queue[Attempt] // containers that start up
	ends     [2]floatQueue  // by kind: running tasks, by the clock's value at their end
	live     map[key]*work
	waits    map[scheduler.JobID][]Attempt
	done     map[scheduler.JobID]bool
	jobs     map[scheduler.JobID]*Job
	starting int                        // jobs that start up or clean up
	ended    map[scheduler.JobID][2]int // attempts, by kind
}

// work is an attempt that holds a container.
type work struct {
	a       Attempt
	job     *Job
	from    float64 // value of the clock when its work began
	running bool
}

// NewContention returns the model; noise comes from seed.
func NewContention(cfg ContentionConfig, seed uint64) Model {
	c := &contention{
		cfg: cfg, rng: rand.New(rand.NewPCG(seed, 0xa)), live: map[key]*work{}, waits: map[scheduler.JobID][]Attempt{},
		done: map[scheduler.JobID]bool{}, jobs: map[scheduler.JobID]*Job{}, ended: map[scheduler.JobID][2]int{},
	}
	c.setRates()
	return c
}

var (
	_ Gauge  = (*contention)(nil)
	_ Phases = (*contention)(nil)
)

// setRates is the formula of Appendix A.
func (c *contention) setRates() {
	nm, k, st := float64(c.ends[0].len()), float64(c.ends[1].len()), float64(c.starting)
	cpu := min(1, c.cfg.Threads/(nm+0.5*k+0.8*st+0.4))
	disk := 1.0
	if k > 0 {
		disk = min(1, c.cfg.Disk/(1+c.cfg.Beta*max(0, k-1)+c.cfg.Gamma*nm/c.cfg.Threads)/k)
	}
	c.rate = [2]float64{cpu * disk, min(cpu, disk)}
}

// advance moves the clocks to now.
func (c *contention) advance(now time.Duration) {
	dt := (now - c.now).Seconds()
	c.clock[0] += dt * c.rate[0]
	c.clock[1] += dt * c.rate[1]
	c.now = now
}

func kindIndex(k scheduler.Kind) int {
	if k == scheduler.Reduce {
		return 1
	}
	return 0
}

func (c *contention) Start(now time.Duration, a Attempt, job *Job) {
	c.advance(now)
	c.jobs[a.Task.Job] = job
	c.live[keyOf(a)] = &work{a: a, job: job}
	c.begin.after(now, c.cfg.Latency, a)
}

// run begins the work of an attempt, unless it is a reduce that still lacks maps.
func (c *contention) run(a Attempt) {
	w := c.live[keyOf(a)]
	if w == nil || w.a.Try != a.Try {
		return
	}
	if a.Task.Kind == scheduler.Reduce && !c.done[a.Task.Job] && w.job.Spec.Maps > 0 {
		c.waits[a.Task.Job] = append(c.waits[a.Task.Job], a)
		return
	}
	k := kindIndex(a.Task.Kind)
	w.from, w.running = c.clock[k], true
	c.ends[k].add(c.clock[k]+w.job.length(a).Seconds(), a)
}

func (c *contention) MapsDone(now time.Duration, job *Job) {
	c.advance(now)
	c.done[job.Spec.ID] = true
	for _, a := range c.waits[job.Spec.ID] {
		c.run(a)
	}
	delete(c.waits, job.Spec.ID)
	c.setRates()
}

func (c *contention) MapsUndone(_ time.Duration, job *Job) { delete(c.done, job.Spec.ID) }

func (c *contention) Stop(now time.Duration, a Attempt) {
	c.advance(now)
	if w := c.live[keyOf(a)]; w != nil && w.a.Try == a.Try {
		c.ends[kindIndex(a.Task.Kind)].remove(a)
		delete(c.live, keyOf(a))
	}
	c.setRates()
}

func (c *contention) Next() time.Duration {
	next := Never
	if c.begin.some() {
		next = c.begin.next()
	}
	for k := range c.ends {
		if c.ends[k].len() > 0 && c.rate[k] > 0 {
			left := (c.ends[k].items[0].at - c.clock[k]) / c.rate[k]
			// A nanosecond more, so that the clock has surely passed the mark.
			next = min(next, c.now+time.Duration(math.Ceil(max(0, left)*float64(time.Second)))+1)
		}
	}
	return next
}

func (c *contention) End(now time.Duration) (Attempt, bool) {
	c.advance(now)
	for c.begin.some() && c.begin.next() <= now {
		_, a := c.begin.take()
		c.run(a)
	}
	c.setRates()
	for k := range c.ends {
		if c.ends[k].len() > 0 && c.ends[k].items[0].at <= c.clock[k] {
			a := c.ends[k].take()
			delete(c.live, keyOf(a))
			n := c.ended[a.Task.Job]
			n[k]++
			c.ended[a.Task.Job] = n
			c.setRates()
			return a, true
		}
	}
	return Attempt{}, false
}

// Starting counts the jobs that start up, which keep the machine busy beside their tasks.
func (c *contention) Starting(now time.Duration, _ *Job, on bool) { c.beside(now, on) }

// Cleaning counts the jobs that clean up, which do so, too.
func (c *contention) Cleaning(now time.Duration, _ *Job, on bool) { c.beside(now, on) }

func (c *contention) beside(now time.Duration, on bool) {
	c.advance(now)
	if on {
		c.starting++
	} else {
		c.starting--
	}
	c.setRates()
}

// IdlePercent returns what vmstat would show.
func (c *contention) IdlePercent(now time.Duration) float64 {
	c.advance(now)
	busy := min(c.cfg.Threads, float64(c.ends[0].len())+2.5*float64(c.ends[1].len())+float64(c.starting)+0.4)
	return min(max(100*(1-busy/c.cfg.Threads)+c.cfg.Noise*c.rng.NormFloat64(), 0), 100)
}

// Progress is YARN's: 5 for set-up, 45 for maps, 45 for reduces.
func (c *contention) Progress(now time.Duration, job *Job) float64 {
	c.advance(now)
	share := [2]float64{float64(c.ended[job.Spec.ID][0]), float64(c.ended[job.Spec.ID][1])}
	for _, k := range []int{0, 1} {
		for _, it := range c.ends[k].items {
			if it.what.Task.Job == job.Spec.ID {
				w := c.live[keyOf(it.what)]
				share[k] += min(1, (c.clock[k]-w.from)/max(it.at-w.from, 1e-9))
			}
		}
	}
	return 5 + 45*share[0]/max(1, float64(job.Spec.Maps)) + 45*share[1]/max(1, float64(job.Spec.Reduces))
}

// floatQueue is a small ordered list: a machine runs a few dozen tasks.
type floatQueue struct{ items []floatItem }

type floatItem struct {
	at   float64
	what Attempt
}

func (q *floatQueue) len() int { return len(q.items) }

func (q *floatQueue) add(at float64, a Attempt) {
	i := len(q.items)
	q.items = append(q.items, floatItem{})
	for i > 0 && q.items[i-1].at > at {
		q.items[i] = q.items[i-1]
		i--
	}
	q.items[i] = floatItem{at, a}
}

func (q *floatQueue) take() Attempt {
	a := q.items[0].what
	q.items = append(q.items[:0], q.items[1:]...)
	return a
}

func (q *floatQueue) remove(a Attempt) {
	for i, it := range q.items {
		if it.what == a {
			q.items = append(q.items[:i], q.items[i+1:]...)
			return
		}
	}
}
