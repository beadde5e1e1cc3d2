package human

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode"
)

// ErrorText is what an error says, with the names of files as part of one line: the system's errors have them as they are, and others may
// have what a command was given. Of the rest, which may be what a program of somebody else has printed, the lines stay.
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
			if strings.ContainsFunc(part, unicode.IsLetter) { // a newline alone would stand for all ends of lines
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
