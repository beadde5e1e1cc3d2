package human

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// ErrorText is what an error says, with the names of files as part of one line: the system's errors have them as they are.
func ErrorText(err error) string {
	text := err.Error()
	var names []string
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		names = append(names, e.Path)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		names = append(names, e.Old, e.New)
	}
	for _, name := range names {
		if p := Printable(name); p != name {
			text = strings.ReplaceAll(text, name, p)
		}
	}
	return text
}
