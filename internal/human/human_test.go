package human

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0 B": Bytes(0), "1023 B": Bytes(1023), "1.00 KiB": Bytes(1024), "1.50 GiB": Bytes(3 << 29), "977 KiB": Bytes(1_000_000),
		"0.98 GiB": Bytes(1001 << 20), "10.0 KiB": Bytes(10 << 10), "100 KiB": Bytes(100 << 10), "99.9 KiB": Bytes(99<<10 + 900), "999 KiB": Bytes(999 << 10), "8.00 EiB": Bytes(1<<63 - 1),
		"0": Count(0), "999": Count(999), "1,000": Count(1000), "1,234,567": Count(1_234_567), "-1,000": Count(-1000), "-100": Count(-100),
		"12ms": Duration(12 * time.Millisecond), "3.21s": Duration(3210 * time.Millisecond), "4m10s": Duration(250 * time.Second),
		"41µs": Duration(41 * time.Microsecond), "1ms": Duration(time.Millisecond), "1.00s": Duration(time.Second), "1m0s": Duration(time.Minute),
		"1 map": Many(1, "map"), "2 maps": Many(2, "map"), "0 copies": Many(0, "copy"), "1 copy": Many(1, "copy"), "1,000 copies": Many(1000, "copy"),
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

// TestErrorText: a name that ends a line does not end it in an error, whether the system names the file or the command was given it; a name
// of ends of lines alone leaves the others.
func TestErrorText(t *testing.T) {
	const bad = "/d/a\nb"
	for _, tt := range []struct {
		err   error
		given []string
		want  string
	}{
		{&fs.PathError{Op: "open", Path: bad, Err: fs.ErrNotExist}, nil, `open /d/a\nb: file does not exist`},
		{&os.LinkError{Op: "rename", Old: bad, New: "c\td", Err: fs.ErrExist}, nil, `rename /d/a\nb c\td: file already exists`},
		{errors.New("no a\nb\nhere"), []string{bad, "/\n/"}, "no a\\nb\nhere"},
		{errors.New("no a\nb"), nil, "no a\nb"},
	} {
		if got := ErrorText(tt.err, tt.given...); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
