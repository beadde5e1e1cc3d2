package suggest

import (
	"path"

	"github.com/millrace/millrace/internal/human"
)

// MostNames is how many names in a directory are worth comparing with a missing one.
const MostNames = 1000

// Path returns a question about the path nearest to a missing one, for the end of a sentence, or nothing if none is
// near. It compares names in the deepest directory of the path that can be listed. list returns the names in a
// directory, or as many of them as are worth comparing.
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
