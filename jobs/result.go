package jobs

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxResult is how many bytes of a result a command reads to show it as values.
const MaxResult = 1 << 20

// ParseResult parses the output of a job with a Result, lines of "name TAB value", into values for programs.
func (b Builtin) ParseResult(text string) map[string]any {
	out := map[string]any{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			out[name] = b.resultValue(name, value)
		}
	}
	if b.judges && len(out) > 0 {
		out["valid"] = true // otherwise the job fails
	}
	return out
}

func (b Builtin) resultValue(name, value string) any {
	if slices.Contains(b.texts, name) {
		return value
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return f
	}
	return value
}
