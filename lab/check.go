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
	Direction     Verdict = "direction" // the order or the sign is as published, the value is not
	NotReproduced Verdict = "not reproduced"
	ShapeOnly     Verdict = "shape only"
)

// A Check is one published statement beside what was measured. Within, Between, AtLeast, AtMost, Holds and Reported make one; its methods return
// a changed copy, so that a check is built in one expression and added to the report whole.
type Check struct {
	Item      string  `json:"item"`
	Published string  `json:"published"`
	Measured  string  `json:"measured"`
	Tolerance string  `json:"tolerance"`
	Verdict   Verdict `json:"verdict"`
	Why       string  `json:"why,omitempty"`

	scale *scale // for the picture; nil where there are no numbers
}

// scale places a measured number beside what is accepted and what was published.
type scale struct {
	value, low, high float64
	want             float64 // NaN where no single number was published
}

// Within checks a number against its published value.
func Within(item string, measured, published, tolerance float64) Check {
	return Check{
		Item: item, Published: stats.Text(published), Measured: stats.Text(measured), Tolerance: "± " + stats.Text(tolerance),
		Verdict: verdict(math.Abs(measured-published) <= tolerance), scale: &scale{measured, published - tolerance, published + tolerance, published},
	}
}

// Between checks a number against bounds; published says what the document says.
func Between(item, published string, measured, low, high float64) Check {
	return bounded(item, published, fmt.Sprintf("%s to %s", stats.Text(low), stats.Text(high)), scale{measured, low, high, math.NaN()})
}

// AtLeast checks a number against a lower bound.
func AtLeast(item, published string, measured, low float64) Check {
	return bounded(item, published, "at least "+stats.Text(low), scale{measured, low, math.Inf(1), math.NaN()})
}

// AtMost checks a number against an upper bound.
func AtMost(item, published string, measured, high float64) Check {
	return bounded(item, published, "at most "+stats.Text(high), scale{measured, math.Inf(-1), high, math.NaN()})
}

func bounded(item, published, accepted string, s scale) Check {
	return Check{
		Item: item, Published: published, Measured: stats.Text(s.value), Tolerance: accepted,
		Verdict: verdict(s.value >= s.low && s.value <= s.high), scale: &s,
	}
}

// Holds checks a statement; accepted says what must hold.
func Holds(item, published, measured string, ok bool, accepted string) Check {
	return Check{Item: item, Published: published, Measured: measured, Tolerance: accepted, Verdict: verdict(ok)}
}

// Reported shows what was measured and judges nothing.
func Reported(item, published, measured string) Check {
	return Check{Item: item, Published: published, Measured: measured, Tolerance: "reported", Verdict: ShapeOnly}
}

func verdict(ok bool) Verdict {
	if ok {
		return Reproduced
	}
	return NotReproduced
}

// Because adds a remark.
func (c Check) Because(why string) Check {
	if c.Why != "" && why != "" {
		c.Why += "; "
	}
	c.Why += why
	return c
}

// Sign grades a row of which the document says only which way it goes: such a row shows a direction, never a value.
func Sign(c Check) Check {
	if c.Verdict == Reproduced {
		c.Verdict = Direction
		return c.Because("published without a value: only the direction can agree")
	}
	return c
}

// Ours grades a row that nobody published: our specification expects it, and the remark says whether it holds.
func Ours(c Check) Check {
	said := "nobody published it; our specification expects it, and it holds"
	if c.Verdict != Reproduced {
		said = "nobody published it; our specification expects it, and it does not hold"
	}
	c.Verdict = ShapeOnly
	return c.Because(said)
}

// Direction grades a check that failed: ok says that the order or the sign is as published all the same.
func (c Check) Direction(ok bool) Check {
	if c.Verdict == NotReproduced && ok {
		c.Verdict = Direction
	}
	return c
}

// SameSide grades a number that failed: it is on the same side of the value that means no effect as the published one.
func (c Check) SameSide(none float64) Check {
	return c.Direction((c.scale.value-none)*(c.scale.want-none) > 0)
}

// Missed adds a reason, if the check failed, or has no more than the direction.
func (c Check) Missed(why string) Check {
	if c.Verdict != NotReproduced && c.Verdict != Direction {
		return c
	}
	return c.Because(why)
}

// Accept says in words what is accepted.
func (c Check) Accept(rule string) Check {
	c.Tolerance = rule
	return c
}

// Mark gives the number that was published, for the picture of a check that has bounds.
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

// Quoted prints what was published in another way.
func (c Check) Quoted(published string) Check {
	c.Published = published
	return c
}

// admitted says of a check that failed without a reason that none is known.
func (c Check) admitted() Check {
	if c.Why == "" {
		return c.Missed("reason not known")
	}
	return c
}
