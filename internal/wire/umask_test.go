package wire

import "testing"

func TestUmask(t *testing.T) {
	for text, want := range map[string]uint16{"": 0o027, "022": 0o022, "22": 0o022, "0": 0, "777": 0o777, "0077": 0o077} {
		if got, err := Umask(text).Bits(0o027); err != nil || got != want {
			t.Errorf("%q: %o, %v; want %o", text, got, err, want)
		}
	}
	for _, text := range []string{"8", "-1", "+7", "1000", "0x7", "rwx", " 22", "7_7", "99999999999999999999"} {
		if _, err := ParseUmask(text); KindOf(err) != Invalid || err == nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
