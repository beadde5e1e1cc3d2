package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/suggest"
)

// An Entry is one input file, with the full path that names it in a [Mux].
type Entry struct {
	Path string
	Size int64
	// Mod is the time of the last change; zero for files that do not report their size.
	Mod time.Time
	// Version changes with the content in the store of a [Versioner], for [OpenVersion]. It is empty elsewhere.
	Version string
}

// maxDepth bounds the walk of a directory, in case links lead back.
const maxDepth = 64

// Expand returns the files that files, directories and patterns (*, ?, [a-z] in any part of the path) mean, in a
// stable order, each as often as it is named. It walks directories to the bottom. It skips hidden names unless they
// are given explicitly. A path that does not exist and a pattern that matches nothing are errors. A directory
// without files is not, since a job may have written it.
func (m Mux) Expand(paths []string) ([]Entry, error) {
	var out []Entry
	for _, p := range paths {
		store, inner, err := m.Resolve(p)
		if err != nil {
			return nil, err
		}
		found, err := expandOne(store, inner)
		if err != nil {
			return nil, m.hint(p, inputError(p, err))
		}
		for _, e := range found {
			e.Path = m.whole(p, e.Path)
			out = append(out, e)
		}
	}
	return out, nil
}

// hint says where else a path exists that is not on the local disk: users forget the scheme.
func (m Mux) hint(p string, err error) error {
	if _, _, ok := cutScheme(p); ok || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, scheme := range slices.Sorted(maps.Keys(m.Stores)) {
		if _, miss := m.Stores[scheme].Stat(p); miss == nil {
			return fmt.Errorf("%w (there is one at %s:%s)", err, scheme, p)
		}
	}
	return fmt.Errorf("%w%s", err, m.meant(p, err))
}

// meant suggests the path on the local disk that is nearest to one that does not exist.
func (m Mux) meant(p string, err error) string {
	var d *danglingError
	store, inner, miss := m.Resolve(p)
	if miss != nil || errors.As(err, &d) {
		return ""
	}
	return suggest.Path(filepath.ToSlash(inner), func(dir string) (names []string, err error) {
		list, err := store.ReadDir(filepath.FromSlash(dir))
		for _, e := range list {
			names = append(names, e.Name())
		}
		return names, err
	})
}

func inputError(p string, err error) error {
	var d *danglingError
	switch {
	case errors.As(err, &d):
		return fmt.Errorf("input %q: %w", p, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("input %q does not exist: %w", p, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("input %q cannot be read: %w", p, err)
	}
	return fmt.Errorf("input %q: %w", p, err)
}

// danglingError is an error about a link to nothing. "does not exist" would be puzzling for a name that ls shows.
type danglingError struct {
	link, target string
	err          error
}

func (e *danglingError) Error() string {
	return fmt.Sprintf("%s is a link to %s, which does not exist (remove the link, or put back what it leads to)", e.link, e.target)
}

func (e *danglingError) Unwrap() error { return e.err }

// stat calls the store's Stat, but distinguishes links to nothing.
func stat(store FS, p string) (fs.FileInfo, error) {
	info, err := store.Stat(p)
	if l, ok := store.(Linker); ok && errors.Is(err, fs.ErrNotExist) {
		if target, lerr := l.Readlink(p); lerr == nil {
			return nil, &danglingError{p, target, err}
		}
	}
	return info, err
}

func expandOne(store FS, p string) ([]Entry, error) {
	info, err := stat(store, p)
	if err == nil {
		return walk(store, p, info, nil)
	}
	if !strings.ContainsAny(p, `*?[`) || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	matches, err := glob(store, p)
	if err != nil {
		return nil, err
	}
	if len(matches) == 0 {
		return nil, errors.New("pattern matches no file")
	}
	var out []Entry
	for _, match := range matches {
		if match.info == nil {
			if match.info, err = stat(store, match.path); err != nil {
				return nil, err
			}
		}
		found, err := walk(store, match.path, match.info, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// walk collects the files below p. above holds the directories on the way down, to detect one that contains itself.
func walk(store FS, p string, info fs.FileInfo, above []string) ([]Entry, error) {
	if !info.IsDir() {
		e, err := entryOf(store, p, info)
		return []Entry{e}, err
	}
	if l, ok := store.(Lister); ok {
		return listed(l, p)
	}
	id, err := resolve(store, p)
	if err != nil {
		return nil, err
	}
	if slices.Contains(above, id) || len(above) >= maxDepth {
		return nil, fmt.Errorf("directory loop: %s contains itself", p)
	}
	entries, err := store.ReadDir(p)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, e := range entries {
		if Hidden(e.Name()) {
			continue
		}
		child := path.Join(p, e.Name())
		info, err := stat(store, child)
		if err != nil {
			return nil, err
		}
		found, err := walk(store, child, info, append(above[:len(above):len(above)], id))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// listed collects the files below a directory in the order of walk.
func listed(l Lister, dir string) (out []Entry, err error) {
	for e, err := range l.List(dir) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return compareWalked(a.Path, b.Path) })
	return out, nil
}

// compareWalked compares two paths by one name after another: what is in "a" comes before "a-b".
func compareWalked(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(rank(a[i]), rank(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// rank puts the end of a name before all bytes of names.
func rank(c byte) int {
	if c == '/' {
		return -1
	}
	return int(c)
}

// EntryOf describes a plain file of a [Versioner]'s, whose FileInfo has a method Version.
func EntryOf(p string, info fs.FileInfo) Entry {
	e := Entry{Path: p, Size: info.Size(), Mod: info.ModTime()}
	if v, ok := info.(interface{ Version() string }); ok {
		e.Version = v.Version()
	}
	return e
}

// entryOf describes a plain file.
func entryOf(store FS, p string, info fs.FileInfo) (Entry, error) {
	if !info.Mode().IsRegular() {
		return Entry{}, fmt.Errorf("%s is not a regular file (%s)", p, info.Mode().Type())
	}
	size, err := sizeOf(store, p, info)
	e := EntryOf(p, info)
	if size != info.Size() {
		e.Size, e.Mod = size, time.Time{}
	}
	return e, err
}

// sizeOf returns the size of a file. Files that claim to be empty may not be, like those of /proc: opening them
// shows it.
func sizeOf(store FS, p string, info fs.FileInfo) (int64, error) {
	if _, local := store.(onDisk); !local || info.Size() > 0 {
		return info.Size(), nil
	}
	f, err := store.Open(p)
	if err != nil {
		return 0, err
	}
	return f.Size(), f.Close()
}

// Hidden reports whether a name is skipped in directories: ".x" and "_x".
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func resolve(store FS, p string) (string, error) {
	if r, ok := store.(Resolver); ok {
		return r.Resolve(p)
	}
	return path.Clean(p), nil
}

// A match is a path that a pattern matches. Its info is nil unless it was at hand.
type match struct {
	path string
	info fs.FileInfo
}

// glob matches one path element after another.
func glob(store FS, pattern string) ([]match, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	dirs := []match{{path: "."}}
	if strings.HasPrefix(pattern, "/") {
		dirs = []match{{path: "/"}}
	}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []match
		for _, dir := range dirs {
			if dir.info != nil && !dir.info.IsDir() {
				continue // nothing can be below it
			}
			found, err := globDir(store, dir.path, part)
			if err != nil {
				return nil, err
			}
			next = append(next, found...)
		}
		dirs = next
	}
	return dirs, nil
}

func globDir(store FS, dir, part string) ([]match, error) {
	if !strings.ContainsAny(part, `*?[\`) {
		if _, err := store.Stat(path.Join(dir, part)); err != nil {
			if errors.Is(err, fs.ErrNotExist) || isFile(store, dir) {
				return nil, nil
			}
			return nil, err
		}
		return []match{{path: path.Join(dir, part)}}, nil
	}
	entries, err := store.ReadDir(dir)
	if err != nil {
		if isFile(store, dir) {
			return nil, nil
		}
		return nil, err
	}
	var out []match
	for _, e := range entries {
		hidden := Hidden(e.Name()) && !Hidden(part)
		if ok, _ := path.Match(part, e.Name()); !ok || hidden {
			continue
		}
		m := match{path: path.Join(dir, e.Name())}
		if _, ok := store.(Lister); ok {
			if m.info, err = e.Info(); err != nil {
				return nil, err
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// isFile reports whether nothing can be below a path.
func isFile(store FS, p string) bool {
	info, err := store.Stat(p)
	return err == nil && !info.IsDir()
}

// Inside reports whether path is dir or inside it, following links. Paths of different stores are never inside one
// another.
func (m Mux) Inside(dir, p string) (bool, error) {
	ds, di, err := m.Resolve(dir)
	if err != nil {
		return false, err
	}
	ps, pi, err := m.Resolve(p)
	if err != nil || ds != ps {
		return false, err
	}
	if di, err = resolve(ds, di); err != nil {
		return false, err
	}
	if pi, err = resolve(ps, pi); err != nil {
		return false, err
	}
	return pi == di || strings.HasPrefix(pi, strings.TrimSuffix(di, "/")+"/"), nil
}
