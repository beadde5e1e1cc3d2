// Package priority is the type of a job's priority, from the flag that sets it to the policy that reads it.
package priority

import (
	"fmt"
	"strconv"
	"strings"
)

// A Priority orders the jobs of a queue: larger goes first. The zero value is Normal.
type Priority int8

// The five priorities.
const (
	VeryLow Priority = iota - 2
	Low
	Normal
	High
	VeryHigh
)

var names = [...]string{"very-low", "low", "normal", "high", "very-high"}

// Valid reports whether p is one of the five.
func (p Priority) Valid() bool { return p >= VeryLow && p <= VeryHigh }

// String returns the priority's name, such as "very-high".
func (p Priority) String() string {
	if !p.Valid() {
		return fmt.Sprintf("priority(%d)", int8(p))
	}
	return names[p-VeryLow]
}

// Parse is the inverse of [Priority.String]. It also accepts the numbers 1 (very-low) to 5 (very-high), which
// earlier submissions used.
func Parse(s string) (Priority, error) {
	for i, name := range names {
		if strings.EqualFold(s, name) || s == strconv.Itoa(i+1) {
			return VeryLow + Priority(i), nil
		}
	}
	return Normal, fmt.Errorf("priority %.40q is not one of %s", s, strings.Join(names[:], ", "))
}

// MarshalText writes the name.
func (p Priority) MarshalText() ([]byte, error) {
	if !p.Valid() {
		return nil, fmt.Errorf("%v is none of %s", p, strings.Join(names[:], ", "))
	}
	return []byte(p.String()), nil
}

// UnmarshalJSON reads a name, or a number as [Parse] does; null and 0 are Normal.
func (p *Priority) UnmarshalJSON(data []byte) (err error) {
	s := string(data)
	if unquoted, err := strconv.Unquote(s); err == nil {
		s = unquoted
	}
	if s == "null" || s == "0" || s == "" {
		*p = Normal
		return nil
	}
	*p, err = Parse(s)
	return err
}
