package suggest

import (
	"path"

	"github.com/millrace/millrace/internal/human"
)

// MostNames is how many names of a directory are worth comparing with one that is not there.
const MostNames = 1000

// Path asks for the path nearest to one that is not there, at the end of a sentence; nothing if none is near. The last directory of the path that
// can be listed has a name like the one that it lacks. list gives the names in a directory, or as many of them as are worth comparing.
func Path(p string, list func(dir string) ([]string, error)) string {
	rest := ""
	for p = path.Clean(p); ; {
		dir, name := path.Dir(p), path.Base(p)
		if names, err := list(dir); err == nil {
			if near := Nearest(name, names); near != "" && near != name {
				return ": did you mean " + human.Printable(path.Join(dir, near, rest)) + "?"
			}
			return ""
		}
		if dir == "/" || dir == "." || dir == ".." {
			return ""
		}
		p, rest = dir, path.Join(name, rest)
	}
}
