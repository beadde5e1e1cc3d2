package marp

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
)

// logged is a controller whose writes are kept.
type logged struct {
	admission.Controller
	marp float64
	acts []act
}

func (l *logged) Init(batch []scheduler.JobID, marp float64) admission.Act {
	l.marp = marp
	return l.keep(0, l.Controller.Init(batch, marp))
}

func (l *logged) Step(o admission.Obs) admission.Act { return l.keep(o.Now, l.Controller.Step(o)) }

func (l *logged) keep(now time.Duration, a admission.Act) admission.Act {
	if a.Write {
		l.acts = append(l.acts, act{now.Seconds(), l.marp, a.MARP})
		l.marp = a.MARP
	}
	return a
}

// admission makes the policy of a set-up, and what logs its controller.
func (b batchSetup) admission(seed uint64) (scheduler.Admission, *logged, error) {
	limits := admission.DefaultLimits()
	random := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	if b.control == "" {
		adm, err := admission.NewStatic(b.marp, limits, random(1))
		return adm, nil, err
	}
	cfg := map[string]admission.Config{"cbt": admission.CBTConfig(), "cbtws": admission.DefaultConfig(), "cbtwat": admission.CBTwATConfig()}[b.control]
	if b.change != nil {
		b.change(&cfg, &limits)
	}
	var c admission.Controller
	var err error
	switch b.control {
	case "cbt":
		c, err = admission.NewCBT(cfg)
	case "cbtws":
		c, err = admission.NewCBTwS(cfg)
	default:
		c, err = admission.NewCBTwAT(cfg, random(2))
	}
	if err != nil {
		return nil, nil, err
	}
	l := &logged{Controller: c}
	adm, err := admission.NewTuned(l, cfg, limits, random(1))
	return adm, l, err
}
