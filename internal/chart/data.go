package chart

import "strconv"

// exact prints a value for a table; one that is not finite is left empty.
func exact(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 10, 64)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
