package names

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/wire"
)

// Limits of names, in bytes (the component limit is HDFS's; the path limit is ours).
const (
	maxName = 255
	maxPath = 4096
)

// parts splits a path into its components; the root has none.
func parts(path string) ([]string, error) {
	if len(path) > maxPath {
		return nil, wire.Errorf(wire.Invalid, "path %.40q...: %d bytes; at most %d are allowed", path, len(path), maxPath)
	}
	rest, absolute := strings.CutPrefix(path, "/")
	if !absolute {
		return nil, wire.Errorf(wire.Invalid, "path %q: does not begin with /", path)
	}
	if rest == "" {
		return nil, nil
	}
	list := strings.Split(rest, "/")
	for _, name := range list {
		if why := badName(name); why != "" {
			return nil, wire.Errorf(wire.Invalid, "path %.300q: %s", path, why)
		}
	}
	return list, nil
}

// badName returns why a component is refused, or "".
func badName(name string) string {
	switch {
	case name == "":
		return "has an empty component"
	case name == "." || name == "..":
		return "the components . and .. have no meaning here"
	case len(name) > maxName:
		return "a component is longer than 255 bytes"
	case !utf8.ValidString(name):
		return "is not valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "has a control character"
	}
	return ""
}

// badWord returns why the name of a user or holder is refused, or "".
func badWord(word string) string {
	switch {
	case len(word) > maxName:
		return "is longer than 255 bytes"
	case !utf8.ValidString(word):
		return "is not valid UTF-8"
	}
	return ""
}
