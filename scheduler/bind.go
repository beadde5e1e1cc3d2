package scheduler

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/human"
)

// The functions below declare a parameter and bind it to a field, as package flag does: the field's value is the
// default, and a given value is set there. Name, source of the default and meaning are in one place.

// Int binds a whole number.
func Int[T ~int | ~int64 | ~uint64](field *T, name, source, doc string) Param {
	return Param{
		Name: name, Type: IntParam, Default: strconv.FormatInt(int64(*field), 10), Source: source, Doc: doc,
		set: func(v value) { *field = T(v.number) },
	}
}

// Float binds a number.
func Float(field *float64, name, source, doc string) Param {
	return Param{
		Name: name, Type: FloatParam, Default: sayNumber(*field), Source: source, Doc: doc,
		set: func(v value) { *field = v.number },
	}
}

// Bool binds a truth value.
func Bool(field *bool, name, source, doc string) Param {
	return Param{
		Name: name, Type: BoolParam, Default: strconv.FormatBool(*field), Source: source, Doc: doc,
		set: func(v value) { *field = v.number != 0 },
	}
}

// Duration binds a length of time.
func Duration(field *time.Duration, name, source, doc string) Param {
	return Param{
		Name: name, Type: DurationParam, Default: sayTime(*field), Source: source, Doc: doc,
		set: func(v value) { *field = v.length },
	}
}

// ByteCount binds a number of bytes.
func ByteCount(field *int64, name, source, doc string) Param {
	return Param{
		Name: name, Type: BytesParam, Default: human.FormatBytes(*field), Source: source, Doc: doc,
		set: func(v value) { *field = int64(v.number) },
	}
}

// Text binds a string.
func Text(field *string, name, source, doc string) Param {
	return Param{Name: name, Type: StringParam, Default: *field, Source: source, Doc: doc, set: func(v value) { *field = v.text }}
}

// Choice binds a string that is one of a few.
func Choice(field *string, choices []string, name, source, doc string) Param {
	return Param{
		Name: name, Type: ChoiceParam, Default: *field, Choices: choices, Source: source, Doc: doc,
		set: func(v value) { *field = v.text },
	}
}

// Either binds a truth value whose two sides have names: the first is false.
func Either(field *bool, sides [2]string, name, source, doc string) Param {
	def := sides[0]
	if *field {
		def = sides[1]
	}
	return Param{
		Name: name, Type: ChoiceParam, Default: def, Choices: sides[:], Source: source, Doc: doc,
		set: func(v value) { *field = v.text == sides[1] },
	}
}

// Floats binds a list of numbers.
func Floats(field *[]float64, name, source, doc string) Param {
	var def []string
	for _, f := range *field {
		def = append(def, sayNumber(f))
	}
	return Param{
		Name: name, Type: FloatsParam, Default: strings.Join(def, ","), Source: source, Doc: doc,
		set: func(v value) { *field = v.list },
	}
}

// Table binds a number for each name.
func Table(field *map[string]float64, name, source, doc string) Param {
	var def []string
	for _, k := range slices.Sorted(maps.Keys(*field)) {
		def = append(def, k+"="+sayNumber((*field)[k]))
	}
	return Param{
		Name: name, Type: TableParam, Default: strings.Join(def, ","), Source: source, Doc: doc,
		set: func(v value) { *field = v.table },
	}
}

// In bounds a number, or each of several; durations in seconds.
func (p Param) In(low, high float64) Param {
	p.Min, p.Max = low, high
	return p
}

// Above0 bounds a number from above and excludes 0 and less.
func (p Param) Above0(most float64) Param {
	p.Positive, p.Max = true, most
	return p
}

// Also calls more after the field is set, to bind one parameter to several fields.
func (p Param) Also(more func()) Param {
	set := p.set
	p.set = func(v value) { set(v); more() }
	return p
}

func sayNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// sayTime writes 5m, not 5m0s.
func sayTime(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
