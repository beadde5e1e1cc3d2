package lab

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/stats"
)

// A Verdict says how a check ended.
type Verdict string

// The verdicts.
const (
	Reproduced    Verdict = "reproduced"
	Direction     Verdict = "direction" // it goes the published way, but the value differs, or none was published
	NotReproduced Verdict = "not reproduced"
	ShapeOnly     Verdict = "shape only"
	// What is not reproduced because of the source: two of its places exclude each other, or it does not print what the
	// statement depends on. Neither is a result.
	Contradiction    Verdict = "contradiction"
	NotPrintedEnough Verdict = "not printed enough"
)

// missed reports whether a statement was judged and not reproduced, whoever's fault that is.
func (v Verdict) missed() bool {
	return v == NotReproduced || v == Contradiction || v == NotPrintedEnough
}

// A Check is one published statement beside what was measured. Within, Between, AtLeast, AtMost, Holds and Reported
// make one. Its methods return a changed copy, so that a check is built in one expression and added to the report
// complete. Its claim decides which verdicts it can have.
type Check struct {
	Item      string  `json:"item"`
	Published string  `json:"published"`
	Claim     Claim   `json:"claim"`
	Measured  string  `json:"measured"`
	Tolerance string  `json:"tolerance"`
	Verdict   Verdict `json:"verdict"`
	Why       string  `json:"why,omitempty"`

	ok, way bool    // the value is accepted; its order or sign is as published
	late    bool    // the accepted range was set after the values had been seen
	fault   Verdict // of the source: what it is called if it is not reproduced; empty: ours
	scale   *scale  // for the picture; nil if there are no numbers
}

// scale places a measured number beside the accepted range and the published number.
type scale struct {
	value, low, high float64
	want             float64 // NaN if no single number was published
}

// newCheck judges a statement.
func newCheck(item string, published Said, measured, accepted string, ok bool) Check {
	c := Check{Item: item, Published: published.text, Claim: published.claim, Measured: measured, Tolerance: accepted, ok: ok}
	return c.judged()
}

// judged returns the check with the verdict that its claim allows.
func (c Check) judged() Check {
	c.Verdict = c.Claim.grade(c.ok && !c.late, c.way || c.ok)
	if c.Verdict == NotReproduced && c.fault != "" {
		c.Verdict = c.fault
	}
	return c
}

// Within checks a number against its published value.
func Within(item string, measured, published, tolerance float64) Check {
	c := newCheck(item, Number(stats.Text(published)), stats.Text(measured), "± "+stats.Text(tolerance), math.Abs(measured-published) <= tolerance)
	c.scale = &scale{measured, published - tolerance, published + tolerance, published}
	return c
}

// Between checks a number against bounds; published says what the document says.
func Between(item string, published Said, measured, low, high float64) Check {
	return bounded(item, published, fmt.Sprintf("%s to %s", stats.Text(low), stats.Text(high)), scale{measured, low, high, math.NaN()})
}

// AtLeast checks a number against a lower bound.
func AtLeast(item string, published Said, measured, low float64) Check {
	return bounded(item, published, "at least "+stats.Text(low), scale{measured, low, math.Inf(1), math.NaN()})
}

// AtMost checks a number against an upper bound.
func AtMost(item string, published Said, measured, high float64) Check {
	return bounded(item, published, "at most "+stats.Text(high), scale{measured, math.Inf(-1), high, math.NaN()})
}

func bounded(item string, published Said, accepted string, s scale) Check {
	c := newCheck(item, published, stats.Text(s.value), accepted, s.value >= s.low && s.value <= s.high)
	c.scale = &s
	return c
}

// Holds checks a statement; accepted says what must hold.
func Holds(item string, published Said, measured string, ok bool, accepted string) Check {
	return newCheck(item, published, measured, accepted, ok)
}

// Reported returns a check that shows what was measured and judges nothing.
func Reported(item, published, measured string) Check {
	return newCheck(item, Said{published, nothingClaim}, measured, "reported", false)
}

// Because adds a remark.
func (c Check) Because(why string) Check {
	if c.Why != "" && why != "" {
		c.Why += "; "
	}
	c.Why += why
	return c
}

// Direction grades a check that failed: ok says that the order or the sign is still as published.
func (c Check) Direction(ok bool) Check {
	c.way = ok
	return c.judged()
}

// Late says that we set the accepted range after the values had been seen. A bound can always be drawn around known
// values, so such a row shows a direction at most.
func (c Check) Late() Check {
	c.late = true
	return c.judged()
}

// SameSide grades a number that failed by whether it is on the same side of none, the value that means no effect, as
// the published one.
func (c Check) SameSide(none float64) Check {
	return c.Direction((c.scale.value-none)*(c.scale.want-none) > 0)
}

// Missed adds a reason if the measurement is not accepted.
func (c Check) Missed(why string) Check {
	if c.ok || c.Verdict == ShapeOnly {
		return c
	}
	return c.Because(why)
}

// Contradicted says that two places of the source, which the remark quotes, exclude each other: a statement that is not
// reproduced for that is a contradiction.
func (c Check) Contradicted(quotes string) Check {
	c.fault = Contradiction
	return c.judged().Missed(quotes)
}

// Accept says in words what is accepted.
func (c Check) Accept(rule string) Check {
	c.Tolerance = rule
	return c
}

// Mark sets the published number, for the picture of a check that has bounds.
func (c Check) Mark(published float64) Check {
	s := *c.scale
	s.want = published
	c.scale = &s
	return c
}

// Shown prints what was measured in another way.
func (c Check) Shown(format string, args ...any) Check {
	c.Measured = fmt.Sprintf(format, args...)
	return c
}

// Over shows the mean of several runs with its interval. A number is judged by its mean; a sign agrees only if the
// whole interval does.
func (c Check) Over(e stats.Estimate) Check {
	c.Measured = e.Text()
	if c.Claim == signClaim {
		c.ok = e.Low >= c.scale.low && e.High <= c.scale.high
	}
	return c.judged()
}

// Quoted sets what was published in the document's words, and what kind of statement that is.
func (c Check) Quoted(published Said) Check {
	c.Published, c.Claim = published.text, published.claim
	return c.judged()
}

// admitted returns a check as a report has it: with the verdict that its claim allows, and why it is no better. For a
// failed check without a reason it says that none is known.
func (c Check) admitted() Check {
	c = c.judged()
	if c.Why == "" {
		c = c.Missed("reason not known")
	}
	c = c.Because(c.Claim.note(c.ok))
	if c.late {
		c = c.Because("what is accepted is a bound of ours that was set after the values had been seen: such a row shows a direction at most")
	}
	return c
}
