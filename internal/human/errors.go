package human

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode"
)

// ErrorText returns the text of an error. It escapes the names of files, which the system's errors contain as they
// are, and the command's arguments in given. The rest, which may be the output of somebody's program, keeps its
// lines.
func ErrorText(err error, given ...string) string {
	text := err.Error()
	var names []string
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		names = append(names, e.Path)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		names = append(names, e.Old, e.New)
	}
	for _, arg := range given {
		for part := range strings.SplitSeq(arg, "/") { // an error may name a file by a part of its path
			if strings.ContainsFunc(part, unicode.IsLetter) { // a newline alone would match all ends of lines
				names = append(names, part)
			}
		}
	}
	for _, name := range names {
		if p := Printable(name); p != name {
			text = strings.ReplaceAll(text, name, p)
		}
	}
	return Lines(text)
}
