package chart

import "strconv"

// exact formats a value for a table. A non-finite value becomes empty.
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
