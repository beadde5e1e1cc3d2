package human

import (
	"fmt"
	"strconv"
	"strings"
)

// units are the units of sizes. Those at the beginning are also used for output, largest first.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"T", 1 << 40},
	{"G", 1 << 30},
	{"M", 1 << 20},
	{"K", 1 << 10},
	{"B", 1},
}

const printed = 7

// ParseBytes parses a size: a number with an optional unit (KiB, MiB, GiB, TiB and K, M, G, T are powers of 1024;
// KB, MB, GB, TB powers of 1000).
func ParseBytes(s string) (int64, error) {
	number, scale := strings.TrimSpace(s), int64(1)
	for _, u := range units {
		if len(number) > len(u.name) && strings.EqualFold(number[len(number)-len(u.name):], u.name) {
			number, scale = strings.TrimSpace(number[:len(number)-len(u.name)]), u.bytes
			break
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f >= 0 && f*float64(scale) <= 1<<60) { // also refuses NaN
		return 0, fmt.Errorf("size %q is not a number with an optional unit, such as 256MiB, 1GB or 4096", s)
	}
	return int64(f * float64(scale)), nil
}

// FormatBytes formats a size with the largest unit that divides it, preferring powers of 1024.
func FormatBytes(n int64) string {
	for _, u := range units[:printed] {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
