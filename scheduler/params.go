package scheduler

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/human"
)

// A ParamType says how a parameter is written.
type ParamType string

// The types of parameter.
const (
	IntParam      ParamType = "int"
	FloatParam    ParamType = "float"
	BoolParam     ParamType = "bool"
	DurationParam ParamType = "duration" // 5s, 300ms
	BytesParam    ParamType = "bytes"    // 1125000000, 100MiB, 1GB
	StringParam   ParamType = "string"
	ChoiceParam   ParamType = "choice"
	FloatsParam   ParamType = "floats" // 4000,10000,36000
	TableParam    ParamType = "table"  // a=1,b=2.5: a number per name
)

// A Param declares one parameter of a policy.
type Param struct {
	Name    string
	Type    ParamType
	Default string
	// Min and Max bound numbers (durations in seconds); both 0: no bound.
	// Positive excludes 0 and less.
	Min, Max float64
	Positive bool
	Choices  []string // of ChoiceParam
	Doc      string   // meaning, unit, what gets worse when it grows
	Source   string   // where the default comes from

	set func(v value) // sets the field that the parameter is bound to
}

// Range describes the allowed values in words.
func (p *Param) Range() string {
	switch {
	case p.Type == ChoiceParam:
		return strings.Join(p.Choices, "|")
	case p.Type == BoolParam:
		return "true|false"
	case p.Positive && p.Max > 0:
		return "> 0, at most " + p.say(p.Max)
	case p.Positive:
		return "> 0"
	case p.Min != 0 || p.Max != 0:
		if p.Max == 0 || math.IsInf(p.Max, 1) {
			return "at least " + p.say(p.Min)
		}
		return p.say(p.Min) + ".." + p.say(p.Max)
	}
	return "any"
}

// say formats a bound for a reader.
func (p *Param) say(v float64) string {
	switch {
	case p.Type == DurationParam:
		return time.Duration(v * float64(time.Second)).String()
	case v < 1e10:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprintf("%g", v)
}

// value is a given value, parsed by its type.
type value struct {
	text   string
	number float64
	length time.Duration
	list   []float64
	table  map[string]float64
}

// SetParams checks the given parameters against those that a policy declares, and sets the fields that they are bound
// to. Names may be written in any case (K is k). An unknown name is an error that lists the known ones.
func SetParams(policy string, declared []Param, given map[string]string) error {
	given, err := lowerNames(policy, given)
	if err != nil {
		return err
	}
	for i := range declared {
		d := &declared[i]
		text, ok := given[strings.ToLower(d.Name)]
		if !ok {
			text = d.Default
		}
		v, err := d.parse(text)
		if err != nil {
			return fmt.Errorf("policy %s: parameter %s=%q: %w", policy, d.Name, text, err)
		}
		if ok {
			d.set(v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(declared, func(d Param) bool { return strings.EqualFold(d.Name, name) }) {
			return fmt.Errorf("policy %s has no parameter %q; it has: %s", policy, name, paramNames(declared))
		}
	}
	return nil
}

// lowerNames writes all names in lower case.
func lowerNames(policy string, given map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		low := strings.ToLower(name)
		if _, twice := out[low]; twice {
			return nil, fmt.Errorf("policy %s: parameter %s is given twice", policy, low)
		}
		out[low] = given[name]
	}
	return out, nil
}

func paramNames(declared []Param) string {
	if len(declared) == 0 {
		return "none"
	}
	names := make([]string, len(declared))
	for i, d := range declared {
		names[i] = d.Name
	}
	return strings.Join(names, ", ")
}

func (p *Param) parse(text string) (v value, err error) {
	v = value{text: text}
	switch p.Type {
	case IntParam:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v.number = float64(n)
	case FloatParam:
		v.number, err = parseFloat(text)
	case BoolParam:
		var b bool
		if b, err = strconv.ParseBool(text); b {
			v.number = 1
		}
		return v, plain(err, "true or false")
	case DurationParam:
		v.length, err = time.ParseDuration(text)
		v.number = v.length.Seconds()
	case BytesParam:
		v.number, err = bytesOf(text)
	case ChoiceParam:
		if !slices.Contains(p.Choices, text) {
			err = fmt.Errorf("must be one of %s", p.Range())
		}
		return v, err
	case FloatsParam:
		v.list, err = p.parseList(text)
		return v, err
	case TableParam:
		v.table, err = p.parseTable(text)
		return v, err
	case StringParam:
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("not a %s", p.Type)
	}
	return v, p.bound(v.number)
}

func plain(err error, want string) error {
	if err != nil {
		return fmt.Errorf("must be %s", want)
	}
	return nil
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && math.IsNaN(f) {
		err = strconv.ErrSyntax
	}
	return f, err
}

func (p *Param) bound(n float64) error {
	low := n < p.Min || p.Positive && n <= 0
	if (p.Min != 0 || p.Max != 0 || p.Positive) && (low || p.Max != 0 && n > p.Max) {
		return fmt.Errorf("out of range: must be %s", p.Range())
	}
	return nil
}

func (p *Param) parseList(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	var out []float64
	for part := range strings.SplitSeq(text, ",") {
		f, err := parseFloat(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", part)
		}
		if err := p.bound(f); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (p *Param) parseTable(text string) (map[string]float64, error) {
	out := make(map[string]float64)
	if text == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, num, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		f, err := parseFloat(strings.TrimSpace(num))
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("%q is not name=number", part)
		}
		if _, dup := out[name]; dup {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		if err := p.bound(f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = f
	}
	return out, nil
}

func bytesOf(text string) (float64, error) {
	n, err := human.ParseBytes(text)
	return float64(n), err
}
