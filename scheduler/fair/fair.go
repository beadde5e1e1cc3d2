package fair

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Info describes the fair policy.
var Info = scheduler.Info{
	Name:    "fair",
	Seam:    scheduler.Assignment,
	Summary: "equal shares between jobs, users, pools or queues, by weight and minimum share; DRF with measure=dominant",
	Source:  "spec/nas 3.10, spec/capacity 3.2, spec/deadline 3.8, spec/slowdown 3.7, spec/marp 7.32",
	Usual:   usual, UsualUnless: scheduler.RampedUnless,
	Setup: scheduler.Bind(DefaultConfig, (*Config).params, New),
}

// A Policy gives each free place to the holder farthest below its share. It
// never waits: what the first cannot use goes to the next.
type Policy struct {
	*Shares
	rule scheduler.ReduceRule
}

var (
	_, _ scheduler.Policy    = (*Policy)(nil), (*Delay)(nil)
	_, _ scheduler.Explainer = (*Policy)(nil), (*Delay)(nil)
	_, _ scheduler.Killer    = (*Policy)(nil), (*Delay)(nil)
)

// New returns a fair policy.
func New(cfg Config) (*Policy, error) {
	s, err := NewShares(cfg)
	if err != nil {
		return nil, err
	}
	return &Policy{Shares: s, rule: cfg.Reduces}, nil
}

// Assign implements scheduler.Policy.
func (p *Policy) Assign(_ time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job has work for {node}", Node: n}
	for _, k := range p.rule.Kinds(v, n) {
		if p.Len(k) == 0 {
			continue
		}
		d := p.pick(n, k, v)
		if d.OK {
			return d
		}
		why = d.Reason
	}
	return scheduler.Idle(why)
}

// pick gives a place of kind k to the first line that can use it.
func (s *Shares) pick(n topology.NodeID, k scheduler.Kind, v *scheduler.View) scheduler.Decision {
	if v.HasRoom(n, k) {
		for i := range s.Len(k) {
			line := s.At(k, i)
			for at := range line.Len() {
				j := line.At(at)
				if !v.Fits(n, j, k) || k == scheduler.Reduce && !s.mayReduce(v, n, j) {
					continue
				}
				if t, near, ok := v.PickTask(j, n, k); ok {
					return scheduler.Run(t, near, s.chosen(line, j, k))
				}
			}
		}
	}
	return scheduler.Idle(scheduler.Reason{
		Code: scheduler.NoRoom, Say: "{node} has no room for a {kind} of {job}", Node: n, Kind: k, Job: s.At(k, 0).At(0).ID(),
	})
}

// mayReduce reports whether a reduce of j may follow its maps now.
func (s *Shares) mayReduce(v *scheduler.View, n topology.NodeID, j *job) bool {
	var first scheduler.Needy // only a ramp asks for it, and only for reduces that would wait: it takes a search
	if s.cfg.Reduces.Ramp > 0 && j.Waits(scheduler.Reduce) {
		first = s.needy(j)
	}
	return s.cfg.Reduces.AllowsReduce(v, n, j, first)
}

func (s *Shares) chosen(line Line, j *job, k scheduler.Kind) scheduler.Reason {
	if line.Group == nil {
		return scheduler.Reason{Say: "{job} is farthest below its share: it holds {a}", Job: j.ID(), Kind: k, A: int64(j.Held())}
	}
	return scheduler.Reason{Say: "{group} is farthest below its share: it holds {a}", Job: j.ID(), Group: line.Group, Kind: k, A: int64(line.Group.Held())}
}

// Explain implements scheduler.Explainer.
func (p *Policy) Explain(_ time.Duration, id scheduler.JobID, v *scheduler.View) scheduler.Reason {
	return p.explain(v.Job(id))
}

func (s *Shares) explain(j *job) scheduler.Reason {
	for k := range scheduler.Driver {
		for i := range s.Len(k) {
			line := s.At(k, i)
			for at := range line.Len() {
				if line.At(at) == j {
					if r, follows := s.cfg.Reduces.Follows(j, k); follows {
						return r
					}
					return s.behind(line, j, k, i, at)
				}
			}
		}
	}
	return s.cfg.Reduces.Why(j)
}

func (s *Shares) behind(line Line, j *job, k scheduler.Kind, ahead, inside int) scheduler.Reason {
	r := scheduler.Reason{Code: scheduler.Behind, Job: j.ID(), Kind: k, Group: line.Group, A: int64(ahead), B: int64(j.Held()), C: int64(inside)}
	switch {
	case ahead == 0 && inside == 0:
		r.Code, r.Say = scheduler.NoRoom, "{job} is next for a {kind} and waits for room; it holds {b} containers"
	case line.Group == nil:
		r.Say = "{job} waits: {a} jobs are farther below their share of {kind} slots; it holds {b} containers"
	default:
		r.B = int64(line.Group.Held())
		r.Say = "{job} waits: {a} others are farther below their share than {group}, which holds {b} containers; {c} of its jobs come first"
	}
	return r
}
