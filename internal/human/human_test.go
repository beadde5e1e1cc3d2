package human

import (
	"errors"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0 B": Bytes(0), "1023 B": Bytes(1023), "1.00 KiB": Bytes(1024), "1.50 GiB": Bytes(3 << 29), "977 KiB": Bytes(1_000_000),
		"0.98 GiB": Bytes(1001 << 20), "8.00 EiB": Bytes(1<<63 - 1),
		"0": Count(0), "999": Count(999), "1,000": Count(1000), "1,234,567": Count(1_234_567), "-1,000": Count(-1000), "-100": Count(-100),
		"12ms": Duration(12 * time.Millisecond), "3.21s": Duration(3210 * time.Millisecond), "4m10s": Duration(250 * time.Second),
		"-": Rate(5, 0), "2.00 KiB/s": Rate(4096, 2*time.Second),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestPrintable: what would end a line, or turn the direction of what follows it, is shown as what it is; letters of all languages stay.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"gnp.\u202egpj": `gnp.\u202egpj`, "a\u2066b\u2069": `a\u2066b\u2069`, "a\nb": `a\nb`, `say "no"`: `say "no"`, "Größe 大小 שלום": "Größe 大小 שלום",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestLines: what a program has printed keeps its lines, and does nothing else to a terminal.
func TestLines(t *testing.T) {
	for in, want := range map[string]string{
		"one\ntwo\n": "one\ntwo\n", "a\x1b]0;pwned\a\x1b[2J\nb": `a\x1b]0;pwned\a\x1b[2J` + "\nb", "a\tb": "a    b", "dos\r\nline": "dos\nline",
		"over\rwritten": `over\rwritten`, "\u009b2J": `\u009b2J`, "a\u202eb\n": `a\u202eb` + "\n", "Größe": "Größe",
	} {
		if got := Lines(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := ErrorText(errors.New(in)); got != want {
			t.Errorf("error %q: %q, want %q", in, got, want)
		}
	}
}
