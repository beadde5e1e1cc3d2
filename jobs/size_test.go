package jobs_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/jobs"
)

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "4096": 4096, "1KiB": 1 << 10, "1k": 1 << 10, "256MiB": 256 << 20, "256mib": 256 << 20, "1.5GiB": 3 << 29,
		"2T": 2 << 40, "1KB": 1000, "1GB": 1e9, "0.5MB": 500_000, " 7 MiB ": 7 << 20, "12B": 12, "1e3": 1000,
	} {
		if got, err := jobs.ParseBytes(s); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "B", "KiB", "-1", "-1KiB", "nan", "NaNMiB", "inf", "+Inf", "1XB", "1 2", "1e30", "9999999TiB", "0x", "1,5MB"} {
		if got, err := jobs.ParseBytes(s); err == nil || !strings.Contains(err.Error(), s) {
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
		n, err := jobs.ParseBytes(s)
		if err != nil {
			return
		}
		if n < 0 {
			t.Fatalf("ParseBytes(%q) = %d", s, n)
		}
		if again, err := jobs.ParseBytes(jobs.FormatBytes(n)); err != nil || again != n {
			t.Fatalf("%q is %d bytes, printed as %q, which is %d, %v", s, n, jobs.FormatBytes(n), again, err)
		}
	})
}

// TestParse: the same words make the same job, and what is wrong is named.
func TestParse(t *testing.T) {
	for _, name := range jobs.Names() {
		words := strings.Fields(jobs.All[name].Example)
		if words[0] != name {
			t.Errorf("the example of %s starts with %s", name, words[0])
		}
	}
	stages, err := jobs.Parse("grep", []string{"--pattern", "x", "--input", "in", "--output", "out", "--priority", "high", "--queue", "q"})
	if err != nil || len(stages) != 2 {
		t.Fatalf("%d stages, %v", len(stages), err)
	}
	for i, s := range stages {
		if s.Priority.String() != "high" || s.Queue != "q" {
			t.Errorf("stage %d has priority %s and queue %q", i, s.Priority, s.Queue)
		}
	}
	for _, c := range []struct{ name, words, want string }{
		{"nosuch", "", "known: "},
		{"sort", "--input in --output out rest", `unexpected argument "rest"`},
		{"sort", "--nosuch", "unknown flag"},
		{"sort", "--output out", "--input"},
	} {
		if _, err := jobs.Parse(c.name, strings.Fields(c.words)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q in it", c.name, c.words, err, c.want)
		}
	}
}
