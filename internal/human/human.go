// Package human formats sizes, rates, times and counts for readers, the same on the terminal and on pages.
package human

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Bytes formats a size with three digits: 512 B, 1.50 GiB.
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n) / 1024
	i := 0
	for f >= 1000 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%s %ciB", digits(f), units[i])
}

func digits(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// Rate formats a rate in bytes per second.
func Rate(n int64, d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return Bytes(int64(float64(n)/d.Seconds())) + "/s"
}

// Duration formats a time to about three digits: 12ms, 3.21s, 4m10s.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Printable returns text from outside (names, reasons) as part of one line. It escapes control characters, and those
// that change the direction of text, so that no name can be mistaken for another.
func Printable(s string) string {
	if !strings.ContainsFunc(s, Acts) {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// Acts reports whether a terminal does anything with a character but show it.
func Acts(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Lines returns text from outside (the output of a program) that keeps its lines. Anything else on which a terminal
// would act is escaped.
func Lines(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && Acts(r) }) {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Printable(strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// Count formats a number with separated thousands: 1,234,567.
func Count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Many formats a number of things: 1 map, 2 maps, 3 copies.
func Many(n int64, what string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(what, "y"); ok {
			what = stem + "ie"
		}
		what += "s"
	}
	return Count(n) + " " + what
}
