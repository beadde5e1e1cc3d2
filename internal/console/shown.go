package console

import (
	"io"
	"os"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/human"
)

// Shown returns w or, if that is a terminal, a writer for foreign bytes that makes visible what a terminal would act
// on.
func Shown(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && Width(f) > 0 {
		return &escaper{w: w}
	}
	return w
}

// escaper escapes what a terminal would act on, except for ends of lines and tabs.
type escaper struct {
	w    io.Writer
	rest []byte // an incomplete character or end of line
}

func (s *escaper) Write(p []byte) (int, error) {
	b := append(s.rest, p...)
	out := make([]byte, 0, len(b))
	for len(b) > 0 && utf8.FullRune(b) && (b[0] != '\r' || len(b) > 1) {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\n' || r == '\t' || r == '\r' && b[1] == '\n':
			out = append(out, byte(r))
		case human.Acts(r) || r == utf8.RuneError && n == 1:
			q := strconv.Quote(string(b[:n]))
			out = append(out, q[1:len(q)-1]...)
		default:
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	s.rest = slices.Clone(b)
	if _, err := s.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
