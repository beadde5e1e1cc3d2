package admission

// CBT starts one more job whenever the processors idle (spec/marp 3.2, script 9.3.1).
type CBT struct{ loop }

var _ Controller = (*CBT)(nil)

// NewCBT returns a controller without a batch.
func NewCBT(cfg Config) (*CBT, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &CBT{loop{cfg: cfg}}, nil
}

// Step implements Controller: lines 5 to 17 of spec/marp 3.2.
func (c *CBT) Step(o Obs) Act {
	if c.over(o) {
		if c.cfg.CompatEarlyExit {
			return Act{Done: true} // the script left the raised value behind (spec/marp 7.12)
		}
		return c.end()
	}
	if !c.idle(o) {
		return c.write(c.dropped(o))
	}
	c.running = o.Running
	switch {
	case o.Pending > 0:
		return c.write(c.raised())
	case o.Running == 0:
		return c.end()
	}
	return Act{}
}
