package live

import (
	"fmt"
	"math"
	"slices"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// A Statement is what a document says about one measure of one arm: its ratio to something else, or only that it is
// less or more.
type Statement struct {
	Arm, Measure string
	// Of is another arm, whose value of the same measure counts, or goal, or simulator.
	Of     string
	Factor float64 // 1 with less or more: no figure is published
	way    way
	// Text is the statement in the document's words, if they are not of a factor; "" means that it is made from the
	// factor.
	Text string
	At   string // where the specification has it
}

// What a statement may compare with, beside an arm.
const (
	goal      = "its goal"
	simulator = "the simulator"
)

type way int

const (
	equal way = iota
	less
	more
)

// The marks of a statement: how far a ratio of arms may be from the published one, and a cluster from its simulator if
// they are said to agree.
const (
	nearby = maxRatio
	agreed = 0.01
)

// is makes a statement with a figure.
func is(arm, measure string, factor float64, of, at string) Statement {
	return Statement{Arm: arm, Measure: measure, Factor: factor, Of: of, At: at}
}

// lessThan makes a statement without a figure.
func lessThan(arm, measure, of, at string) Statement {
	return Statement{Arm: arm, Measure: measure, Factor: 1, Of: of, way: less, At: at}
}

// moreThan makes a statement without a figure.
func moreThan(arm, measure, of, at string) Statement {
	return Statement{Arm: arm, Measure: measure, Factor: 1, Of: of, way: more, At: at}
}

// inWords returns a statement in the document's words.
func (s Statement) inWords(text string) Statement {
	s.Text = text
	return s
}

func (s *Statement) String() string {
	factor := ""
	if s.Factor != 1 {
		factor = stats.Text(s.Factor) + " of "
	}
	switch {
	case s.Text != "":
		return s.Text
	case s.way == less:
		return "less than " + factor + s.Of
	case s.way == more:
		return "more than " + factor + s.Of
	}
	return factor + s.Of
}

// judge compares a ratio with the statement.
func (s *Statement) judge(ratio float64) lab.Check {
	item, within := fmt.Sprintf("%s of %s over %s", s.Measure, s.Arm, s.Of), nearby
	said := lab.Number(s.String())
	if s.way != equal && s.Factor == 1 {
		said = lab.Sign(s.String())
	}
	if s.Of == simulator {
		within = agreed
	}
	var c lab.Check
	switch s.way {
	case less:
		c = lab.AtMost(item, said, ratio, s.Factor).Direction(ratio < 1)
	case more:
		c = lab.AtLeast(item, said, ratio, s.Factor).Direction(ratio > 1)
	default:
		c = lab.Within(item, ratio, s.Factor, within).Quoted(said).SameSide(1)
	}
	return c.Because(s.At).Missed("the jobs and machines here are not the document's")
}

// quote adds to each row what is published of it and how it compares, and whether the simulator has foretold it.
func (l *Laboratory) quote(rows []Row, quick bool) {
	for i := range rows {
		r := &rows[i]
		r.Foretold = foretold(r, rowOf(rows, rows[0].Arm, r.Measure))
		at := slices.IndexFunc(l.Statements, func(s Statement) bool { return s.Arm == r.Arm && s.Measure == r.Measure })
		if at < 0 {
			continue
		}
		s := &l.Statements[at]
		r.Published = s.String()
		if ratio := stats.Mean(r.Live) / l.whole(s, r, rows, quick); !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
			c := s.judge(ratio)
			r.Verdict, r.check = c.Verdict, &c
		}
	}
}

// whole returns what a statement compares with; 0 if that was not run.
func (l *Laboratory) whole(s *Statement, r *Row, rows []Row, quick bool) float64 {
	switch s.Of {
	case simulator:
		return r.Simulated
	case goal:
		return l.goals(quick)[s.Measure]
	}
	if of := rowOf(rows, s.Of, s.Measure); of != nil {
		return stats.Mean(of.Live)
	}
	return 0
}

// goals returns how long jobs may take, in seconds, by the measure that is the mean of such jobs.
func (l *Laboratory) goals(quick bool) map[string]float64 {
	out := map[string]float64{}
	for _, j := range l.Jobs(quick) {
		for _, m := range l.Measures {
			if m.which != nil && m.which(j) {
				out[m.Name] = (j.Spec.Deadline - j.Spec.Submit).Seconds()
			}
		}
	}
	return out
}

func rowOf(rows []Row, arm, measure string) *Row {
	for i := range rows {
		if rows[i].Arm == arm && rows[i].Measure == measure {
			return &rows[i]
		}
	}
	return nil
}

// foretold reports whether the simulator is within a tenth of the cluster. A difference of at most a hundredth of the
// first arm's value does not count.
func foretold(r, first *Row) bool {
	live := stats.Mean(r.Live)
	return math.Abs(r.Simulated-live) <= max(maxError*live, 0.01*stats.Mean(first.Live))
}
