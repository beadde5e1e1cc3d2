// Package suggest guesses what somebody meant who named something that does not exist.
//
//	suggest.Unknown("policy", "fiar", []string{"fair", "fifo"}) // unknown policy "fiar": did you mean fair? (known: fair, fifo)
package suggest

import (
	"fmt"
	"strings"
)

// Unknown returns an error about a name that is not among the known ones.
func Unknown(what, name string, known []string) error {
	return fmt.Errorf("unknown %s %q%s (known: %s)", what, name, Meant(name, known), strings.Join(known, ", "))
}

// Meant asks for the nearest known name, at the end of a sentence, or is "" if none is near.
func Meant(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// Nearest returns the known name that takes the fewest typing slips to reach, or nothing if none is near: one slip
// for each three letters, and fewer than letters.
func Nearest(name string, known []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, k := range known {
		if len(k) < len(name)+least && len(name) < len(k)+least { // otherwise too far, and not worth counting
			if n := slips(strings.ToLower(name), strings.ToLower(k)); n < least && n < len(name) {
				best, least = k, n
			}
		}
	}
	return best
}

// slips counts letters that are missing, superfluous, wrong, or swapped with their neighbour (optimal string
// alignment).
func slips(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			wrong := last[j]
			if a[i] != b[j] {
				wrong++
			}
			row[j+1] = min(wrong, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
