package admission

// CBTwS starts one more job when the processors idle and the smoothed rate of
// progress rises (spec/marp 3.4, script 9.3.2).
type CBTwS struct{ smoother }

var _ Controller = (*CBTwS)(nil)

// NewCBTwS returns a controller without a batch.
func NewCBTwS(cfg Config) (*CBTwS, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &CBTwS{newSmoother(cfg)}, nil
}

// Step implements Controller.
func (c *CBTwS) Step(o Obs) Act { return c.step(o, c.measure) }

// measure is lines 3 to 12 of spec/marp 3.4. With nothing pending the measurement is
// thrown away: P and D stay (spec/marp 7.16).
func (c *CBTwS) measure(mean float64, o Obs) Act {
	if o.Pending == 0 {
		return Act{Sleep: c.cfg.NoPending}
	}
	p, d := c.next(mean)
	rises := d > c.delta || c.stalled(o)
	c.progress, c.delta = p, d
	if rises {
		return c.write(c.raised())
	}
	return Act{}
}
