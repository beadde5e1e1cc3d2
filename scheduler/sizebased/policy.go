package sizebased

import (
	"fmt"
	"math"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Policy is fbq, tags, sita or comp.
type Policy struct {
	cfg Config
	queues
	feedback  *feedback  // fbq, tags
	partition *partition // tags, sita
	predictor *Predictor // sita, comp
	ring      *ring      // comp
	stopping  []*job     // tags with restart
	unknown   []int      // by queue: jobs of unknown size sent there
	fit       *fitted    // limits follow the cluster
}

var (
	_ scheduler.Policy    = (*Policy)(nil)
	_ scheduler.Explainer = (*Policy)(nil)
	_ scheduler.Abstainer = (*Policy)(nil)
	_ scheduler.Killer    = (*Policy)(nil)
	_ scheduler.Figurer   = (*Policy)(nil)
)

// New returns the policy that cfg describes.
func New(cfg Config) (*Policy, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Policy{cfg: cfg, queues: newQueues(cfg.K)}
	if cfg.Fit && cfg.K > 1 {
		p.fit = &fitted{sizes: newRing(fitJobs)}
	}
	if cfg.Discipline.Partitioned() {
		p.partition, p.unknown = &partition{shares: cfg.Shares, stale: true}, make([]int, cfg.K)
	}
	if cfg.Discipline.Feedback() {
		p.feedback = newFeedback(&cfg)
		return p, nil
	}
	predictor, err := NewPredictor(cfg.Predict)
	if err != nil {
		return nil, fmt.Errorf("predictor: %w", err)
	}
	p.predictor = predictor
	if cfg.Discipline == COMP {
		p.ring = newRing(cfg.K - 1)
	}
	return p, nil
}

// Observe implements scheduler.Policy.
func (p *Policy) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	if e.Kind == scheduler.EvTaught {
		p.learn(e.Lesson)
	} else if j := v.Job(e.Job); j != nil {
		p.observeJob(now, e, j)
	} else if p.partition != nil && aboutNodes(e.Kind) {
		p.partition.stale = true
	}
	if p.fit != nil && (e.Kind == scheduler.EvTaught || e.Kind == scheduler.EvJobFinished || aboutNodes(e.Kind)) {
		p.refit(now, v)
	}
	p.applyFeedback(now)
}

func aboutNodes(k scheduler.EventKind) bool {
	switch k {
	case scheduler.EvNodeUp, scheduler.EvNodeUpdated, scheduler.EvNodeDraining, scheduler.EvNodeDown:
		return true
	}
	return false
}

func (p *Policy) observeJob(now time.Duration, e scheduler.Event, j *job) {
	completed := false
	switch e.Kind {
	case scheduler.EvJobSubmitted:
		p.arrive(now, j)
	case scheduler.EvJobReady:
		if e.Spec != nil && p.predictor != nil { // the driver knows the input better
			p.route(j)
		}
	case scheduler.EvTaskFinished, scheduler.EvTaskFailed, scheduler.EvTaskKilled:
		completed = true
	case scheduler.EvJobFinished, scheduler.EvJobFailed, scheduler.EvJobVanished:
		p.leave(j, e.Kind == scheduler.EvJobFinished)
		return
	}
	at := p.at(j)
	if p.feedback != nil {
		at.wait(now, j)
		p.feedback.watch(now, j, at, completed)
	}
	p.list(j, &p.cfg.Reduces)
}

// arrive appends a new job to its queue.
func (p *Policy) arrive(now time.Duration, j *job) {
	at := p.at(j)
	*at = place{in: true, seen: now, pos: p.next}
	p.next++
	if p.predictor != nil {
		p.route(j)
	}
}

// route puts j in the queue of its predicted size; its turn is that of its
// arrival.
func (p *Policy) route(j *job) {
	at, pos := p.at(j), p.at(j).pos
	if s := j.Spec(); p.partition != nil && !p.predictor.Known(s) {
		if !at.spread {
			p.move(j, p.nextUnknown())
		}
		at.spread = true
	} else {
		p.move(j, p.queueFor(p.predictor.Size(s)))
	}
	at.pos = pos
}

// nextUnknown returns the queue of a job of unknown size. Such jobs are spread over the partitions by their shares;
// otherwise the first, and largest, job of a cluster would run in the smallest of them.
func (p *Policy) nextUnknown() int32 {
	best, least := 0, math.Inf(1)
	for k, share := range p.cfg.Shares {
		if load := float64(p.unknown[k]+1) / share; load < least {
			best, least = k, load
		}
	}
	p.unknown[best]++
	return int32(best)
}

// queueFor is step 1 of spec/slowdown 3.4 (sita) and 3.5 (comp).
func (p *Policy) queueFor(size float64) int32 {
	if p.ring != nil {
		return int32(p.ring.rank(size))
	}
	for k, limit := range p.cfg.Limits {
		if size <= limit { // (L_(k-1), L_k], spec/slowdown 6.6
			return int32(k)
		}
	}
	return int32(p.cfg.K - 1)
}

// leave forgets a job that has ended; one that finished teaches its size.
func (p *Policy) leave(j *job, finished bool) {
	if p.feedback != nil {
		p.feedback.forget(j, p.at(j).queue)
		p.stopRestart(j)
	}
	p.drop(j)
	if finished {
		p.learn(j.Lesson())
	}
}

// learn adds what a finished job took.
func (p *Policy) learn(l *scheduler.Lesson) {
	if p.fit != nil {
		p.fit.sizes.push(sizeOf(l, p.cfg.CountWait))
	}
	if p.predictor == nil {
		return
	}
	size := p.predictor.Learn(l)
	if p.ring != nil {
		p.ring.push(size)
	}
}

// applyFeedback is step 2 of spec/slowdown 3.2 and 3.3: queue by queue, in the
// order of the queue, jobs at or past the limit are appended to the next one. A
// job may fall through several queues at once.
func (p *Policy) applyFeedback(now time.Duration) {
	if p.feedback == nil {
		return
	}
	for k := range p.feedback.due {
		for _, j := range p.feedback.crossed(now, k, &p.queues) {
			p.relegate(now, j)
		}
	}
}

// relegate moves j one queue down. Its running tasks stay where they are.
func (p *Policy) relegate(now time.Duration, j *job) {
	at := p.at(j)
	p.move(j, at.queue+1)
	if p.cfg.PerQueue || p.cfg.Restart {
		at.since += p.feedback.attained(now, j, at)
	}
	if p.cfg.Restart && !j.Complete() {
		at.stopping, at.restart = true, restart{}
		p.stopping = append(p.stopping, j)
	}
	p.feedback.watch(now, j, at, true)
	p.list(j, &p.cfg.Reduces)
}

// QueueOf returns the queue of j, counted from 1, and whether it is in one.
func (p *Policy) QueueOf(j *scheduler.Job) (queue int, ok bool) {
	at := p.at(j)
	return int(at.queue) + 1, at.in
}

// PartitionOf returns the first and last queue, counted from 1, that node n
// serves; 0 and 0 if it serves none.
func (p *Policy) PartitionOf(n topology.NodeID, v *scheduler.View) (first, last int) {
	s := p.serves(n, v)
	if s.from >= s.to {
		return 0, 0
	}
	return int(s.from) + 1, int(s.to)
}
