package lab

import "fmt"

// accept says what the last check asks for, where the published text does not say it.
func (r *Recorder) accept(rule string) { r.newest().Tolerance = rule }

// mark gives the last check the number that was published, for its picture.
func (r *Recorder) mark(published float64) {
	if s := r.newest().scale; s != nil {
		s.want = published
	}
}

// newest is the check that was added last.
func (r *Recorder) newest() *Check { return &r.report.Checks[len(r.report.Checks)-1] }

// unmet adds a reason to what the last check says, if it failed.
func (r *Recorder) unmet(why string) {
	c := r.newest()
	switch {
	case c.Verdict != NotReproduced || why == "":
	case c.Why == "":
		c.Why = why
	default:
		c.Why += "; " + why
	}
}

// orBecause replaces what the last check says by a reason, if it failed.
func (r *Recorder) orBecause(why string) {
	if c := r.newest(); c.Verdict == NotReproduced {
		c.Why = why
	}
}

// shown replaces how the last check prints what was measured.
func (r *Recorder) shown(format string, args ...any) {
	r.newest().Measured = fmt.Sprintf(format, args...)
}

// quoted replaces how the last check prints what was published.
func (r *Recorder) quoted(published string) {
	r.newest().Published = published
}

// marked is between with the number that was published.
func (r *Recorder) marked(want float64, item, published string, measured, low, high float64, why string) {
	r.between(item, published, measured, low, high, why)
	r.mark(want)
}

// admit says of each check that failed without a reason that none is known.
func (r *Recorder) admit() {
	for i := range r.report.Checks {
		if c := &r.report.Checks[i]; c.Verdict == NotReproduced && c.Why == "" {
			c.Why = "reason not known"
		}
	}
}
