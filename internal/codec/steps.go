package codec

import "io"

// ReadN reads n bytes into buf and returns them. It allocates in steps, as the bytes arrive, so that a large length
// alone costs nothing. If fewer bytes arrive, it returns those and the error.
func ReadN(in io.Reader, buf []byte, n int) ([]byte, error) {
	const step = 256 << 10
	if cap(buf) < min(n, step) {
		buf = make([]byte, min(n, step))
	}
	buf = buf[:min(n, cap(buf))]
	for got := 0; ; {
		m, err := io.ReadFull(in, buf[got:])
		got += m
		if err != nil || got == n {
			return buf[:got], err
		}
		buf = append(buf, make([]byte, min(n-got, len(buf)))...)
	}
}
