package mapreduce

import (
	"errors"
	"fmt"
	"strconv"
)

// given are pairs on their way through a job: where they come from, and their types. A nil type is plain bytes.
type given struct {
	from       string
	key, value Type
}

// taken is code or a file that takes pairs. A nil type takes any bytes.
type taken struct {
	by         string
	key, value Type
}

// joins returns why what gives pairs and what takes them do not go together, or nil.
func joins(g given, t taken) error {
	return errors.Join(joinsAs("keys", g.from, g.key, t.by, t.key), joinsAs("values", g.from, g.value, t.by, t.value))
}

func joinsAs(what, from string, given Type, by string, taken Type) error {
	if taken == nil || fits(encodingOf(given), encodingOf(taken)) {
		return nil
	}
	help := "use one type for both"
	if given == nil {
		help = "say in its Key and Value what it emits, as mapreduce.CodecFor, or use one type for both"
	}
	a, b := orBytes(given).TypeName(), taken.TypeName()
	if a == b { // types of different packages or functions
		a, b = encodingOf(given), encodingOf(taken)
	}
	return &typeError{fmt.Sprintf("%s emits %s %s, %s takes %s: %s", from, a, what, by, b, help)}
}

// A typeError says that the types of pairs do not go together.
type typeError struct{ problem string }

// Error names both types, and where they are.
func (e *typeError) Error() string { return e.problem }

// Final reports that another attempt cannot help.
func (*typeError) Final() bool { return true }

// validateTypes follows the pairs of every input through the job.
func (j *Job) validateTypes() error {
	var errs []error
	for i := range j.AllInputs() {
		errs = append(errs, j.validateInput(i))
	}
	for _, r := range []Reduce{j.Combine, j.Reduce} {
		errs = append(errs, encodable(r.Key), encodable(r.Value), encodable(r.InKey), encodable(r.InValue))
	}
	if !j.Combine.IsZero() && !j.MapOnly {
		errs = append(errs, j.validateCombined())
	}
	return errors.Join(errs...)
}

func (j *Job) validateInput(i int) error {
	g, m := j.mapped(i), j.AllInputs()[i].Map
	err := errors.Join(encodable(m.Key), encodable(m.Value), encodable(m.InKey), encodable(m.InValue))
	if err != nil || j.MapOnly {
		return err
	}
	if !j.Combine.IsZero() {
		if err := joins(g, taken{"the combiner", j.Combine.InKey, j.Combine.InValue}); err != nil {
			return err
		}
	}
	if g, err = j.folded(g); err != nil {
		return err
	}
	return j.last(g)
}

// validateCombined checks what a combiner emits: it goes to the combiner again, and to where map output goes.
func (j *Job) validateCombined() error {
	c, m := j.Combine, j.mapped(0)
	g := given{"the combiner", c.Key, c.Value}
	if c.Key == nil {
		g.key = m.key
	}
	if c.Value == nil {
		g.value = m.value
	}
	return errors.Join(joins(g, taken{"the combiner", c.InKey, c.InValue}), j.last(g))
}

// encodable returns why a type has no encoding, or nil.
func encodable(t Type) error {
	if r, ok := t.(interface{ refused() error }); ok {
		return &typeError{r.refused().Error()}
	}
	return nil
}

// mapped is what the map of an input emits.
func (j *Job) mapped(i int) given {
	all := j.AllInputs()
	return given{"the map" + placeOf(all, i), all[i].Map.Key, all[i].Map.Value}
}

// placeOf says which of several inputs one is.
func placeOf(all []Input, i int) string {
	switch in := all[i]; {
	case len(all) == 1:
		return ""
	case in.Name != "":
		return " of input " + in.Name
	case len(in.Paths) > 0:
		return " of input " + in.Paths[0]
	}
	return " of input " + strconv.Itoa(i+1)
}

// folded is what the fold makes of pairs, if there is one.
func (j *Job) folded(g given) (given, error) {
	if j.Fold.IsZero() {
		return g, nil
	}
	p, err := j.Fold.Plan(g.value)
	if err != nil {
		return g, fmt.Errorf("%s: %w", g.from, err)
	}
	return given{fmt.Sprintf("the fold %s, behind %s,", j.Fold, g.from), g.key, p.Value}, nil
}

// last returns why pairs that come out of the shuffle cannot be taken, or nil. A reduce takes them or, without one, the
// output, which has one type for those of all inputs.
func (j *Job) last(g given) error {
	if !j.Reduce.IsZero() {
		return joins(g, taken{"the reduce", j.Reduce.InKey, j.Reduce.InValue})
	}
	first, err := j.folded(j.mapped(0))
	if err != nil {
		return err
	}
	return errors.Join(sameAs("keys", first.from, first.key, g.from, g.key), sameAs("values", first.from, first.value, g.from, g.value))
}

func sameAs(what, first string, a Type, from string, b Type) error {
	if fits(printedAs(b), printedAs(a)) {
		return nil
	}
	return &typeError{fmt.Sprintf("%s emits %s %s, %s %s: without a Reduce both would be printed as %s; use one type for both",
		from, orBytes(b).TypeName(), what, first, orBytes(a).TypeName(), orBytes(a).TypeName())}
}

// printedAs names the encoding of the largest type that prints the same bytes as the same text.
func printedAs(t Type) string {
	switch l, isList := t.(listType); {
	case isList:
		return "list(" + printedAs(l.of) + ")"
	case isInteger(t):
		return Int64.TypeName()
	}
	return encodingOf(t)
}

// gives lists what the job writes: a map-only job what each of its maps emits.
func (j *Job) gives() (all []given) {
	switch {
	case j.MapOnly:
		for i := range j.AllInputs() {
			all = append(all, j.mapped(i))
		}
	case !j.Reduce.IsZero():
		all = []given{{"the reduce", j.Reduce.Key, j.Reduce.Value}}
	default:
		if g, err := j.folded(j.mapped(0)); err == nil { // otherwise Validate says why
			all = []given{g}
		}
	}
	return all
}

// CheckNext returns why the next job of a chain cannot take the pairs that this one writes as records, or nil.
func (j *Job) CheckNext(next *Job) error {
	for _, g := range j.gives() {
		g.from = j.called("the stage before") + ": " + g.from
		if err := joins(g, taken{"the map of " + next.called("the next stage"), next.Map.InKey, next.Map.InValue}); err != nil {
			return err
		}
	}
	return nil
}

// called returns the job's name, or what to call it.
func (j *Job) called(otherwise string) string {
	if j.Name == "" {
		return otherwise
	}
	return "job " + strconv.Quote(j.Name)
}
