package wire

// ModeText returns a mode as ls shows it: drwxr-xr-x.
func ModeText(dir bool, mode uint16) string {
	out := []byte("-rwxrwxrwx")
	if dir {
		out[0] = 'd'
	}
	for bit := range 9 {
		if mode&(1<<(8-bit)) == 0 {
			out[1+bit] = '-'
		}
	}
	switch {
	case mode&0o1001 == 0o1001:
		out[9] = 't'
	case mode&0o1000 != 0:
		out[9] = 'T'
	}
	return string(out)
}
