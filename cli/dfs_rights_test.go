package cli

import "testing"

func TestChangeMode(t *testing.T) {
	for _, tt := range []struct {
		arg  string
		mode uint16
		dir  bool
		want uint16
	}{
		{"644", 0o777, false, 0o644},
		{"1777", 0, true, 0o1777},
		{"g+w", 0o644, false, 0o664},
		{"u+rwx,go=", 0o644, false, 0o700},
		{"a-w", 0o666, false, 0o444},
		{"+x", 0o644, false, 0o755},
		{"o=r", 0o647, false, 0o644},
		{"a+X", 0o644, false, 0o644},
		{"a+X", 0o744, false, 0o755},
		{"a+X", 0o644, true, 0o755},
		{"+t", 0o777, true, 0o1777},
	} {
		if got, err := changeMode(tt.arg, tt.mode, tt.dir); err != nil || got != tt.want {
			t.Errorf("%s of %o: %o, %v; want %o", tt.arg, tt.mode, got, err, tt.want)
		}
	}
	for _, arg := range []string{"", "8", "2777", "-1", "u", "z+r", "u+q", "644,", "99999999999"} {
		if got, err := changeMode(arg, 0, false); err == nil {
			t.Errorf("%q was taken as %o", arg, got)
		}
	}
}
