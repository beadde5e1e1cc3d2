package human

import (
	"strings"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "4096": 4096, "1KiB": 1 << 10, "1k": 1 << 10, "256MiB": 256 << 20, "256mib": 256 << 20, "1.5GiB": 3 << 29,
		"2T": 2 << 40, "1KB": 1000, "1GB": 1e9, "0.5MB": 500_000, " 7 MiB ": 7 << 20, "12B": 12, "1e3": 1000,
	} {
		if got, err := ParseBytes(s); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "B", "KiB", "-1", "-1KiB", "nan", "NaNMiB", "inf", "+Inf", "1XB", "1 2", "1e30", "9999999TiB", "0x", "1,5MB"} {
		if got, err := ParseBytes(s); err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("ParseBytes(%q) = %d, %v; want an error that names it", s, got, err)
		}
	}
}

// FuzzParseBytes: a size is never negative, and prints as something that means it.
func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"1", "256MiB", "1.5GB", "nan", "-0", "1e18", "KiB", "0x1p4", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseBytes(s)
		if err != nil {
			return
		}
		if n < 0 {
			t.Fatalf("ParseBytes(%q) = %d", s, n)
		}
		if again, err := ParseBytes(FormatBytes(n)); err != nil || again != n {
			t.Fatalf("%q is %d bytes, printed as %q, which is %d, %v", s, n, FormatBytes(n), again, err)
		}
	})
}
