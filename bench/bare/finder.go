package bare

import (
	"bytes"

	"github.com/millrace/millrace/internal/find"
)

// lines appends the lines of text that contain the pattern. Ends of lines are
// looked for only around a match.
func lines(dst, text []byte, f *find.Finder) []byte {
	for len(text) > 0 {
		at := f.Index(text)
		if at < 0 {
			break
		}
		start := bytes.LastIndexByte(text[:at], '\n') + 1
		end := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		dst = append(dst, text[start:end]...)
		if dst[len(dst)-1] != '\n' {
			dst = append(dst, '\n')
		}
		text = text[end:]
	}
	return dst
}
