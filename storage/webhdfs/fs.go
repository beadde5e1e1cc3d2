package webhdfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/millrace/millrace/storage"
)

var (
	_ storage.FS        = (*store)(nil)
	_ storage.Lister    = (*store)(nil)
	_ storage.Versioner = (*store)(nil)
	_ storage.Resolver  = (*store)(nil)
)

// fail names what was done to which file.
func (st *store) fail(what, p string, err error) error {
	return fmt.Errorf("%s %s%s: %w", what, st.name, p, err)
}

// Stat describes a file or directory.
func (st *store) Stat(p string) (fs.FileInfo, error) {
	i, err := st.stat(p)
	if err != nil {
		return nil, st.fail("look at", p, err)
	}
	return i, nil
}

// Resolve returns the path in the one spelling that a name node has for it.
func (st *store) Resolve(p string) (string, error) { return path.Clean(p), nil }

// MkdirAll makes a directory and its parents.
func (st *store) MkdirAll(p string) error {
	body, _, err := st.answer(call{"PUT", "MKDIRS", p, nil})
	if err == nil {
		var made bool
		if made, err = parseBool(body); err == nil && !made {
			err = errors.New("the name node has not made it, and does not say why")
		}
	}
	if err != nil {
		return st.fail("make directory", p, err)
	}
	return nil
}

// RemoveAll removes a path and all below. The trash of Hadoop's command line does not get it.
func (st *store) RemoveAll(p string) error {
	body, _, err := st.answer(call{"DELETE", "DELETE", p, url.Values{"recursive": {"true"}}})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = parseBool(body) // false: there was nothing
	}
	if err != nil {
		return st.fail("remove", p, err)
	}
	return nil
}

// ReadDir lists a directory, sorted by name.
func (st *store) ReadDir(p string) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	err := st.each(p, func(i info) error {
		out = append(out, fs.FileInfoToDirEntry(i))
		return nil
	})
	if err != nil {
		return nil, st.fail("list", p, err)
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// List yields the files below a directory, page by page.
func (st *store) List(dir string) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		if err := st.below(dir, 0, yield); err != nil && !errors.Is(err, errEnough) {
			yield(storage.Entry{}, err)
		}
	}
}

// errEnough ends a listing of which no more is wanted.
var errEnough = errors.New("enough")

// maxDepth is far more than the 1,000 names that a name node allows in 8,000 characters leave room for in practice.
const maxDepth = 1000

func (st *store) below(dir string, depth int, yield func(storage.Entry, error) bool) error {
	if depth > maxDepth {
		return st.fail("list", dir, fmt.Errorf("more than %d directories in one another", maxDepth))
	}
	err := st.each(dir, func(i info) error {
		p := path.Join(dir, i.name)
		switch {
		case storage.Hidden(i.name):
		case i.IsDir():
			return st.below(p, depth+1, yield)
		case i.Type == typeLink:
			return fmt.Errorf("%s is a link, which WebHDFS does not follow: name what it leads to", i.name)
		case !yield(storage.EntryOf(p, i), nil):
			return errEnough
		}
		return nil
	})
	if _, named := errors.AsType[*listError](err); err == nil || named || errors.Is(err, errEnough) {
		return err
	}
	return &listError{st.fail("list", dir, err)}
}

// A listError names the directory, deep or not, that could not be listed.
type listError struct{ error }

func (e *listError) Unwrap() error { return e.error }

// each calls f for what is in a directory, in the order of the name node. It holds a page at a time.
func (st *store) each(dir string, f func(info) error) error {
	for after := ""; ; {
		list, more, err := st.page(dir, after)
		if err != nil {
			return err
		}
		for _, s := range list {
			if s.PathSuffix == "" {
				return errNoDirectory
			}
			if err := f(info{s, s.PathSuffix}); err != nil {
				return err
			}
		}
		if more == 0 || len(list) == 0 {
			return nil
		}
		if list[len(list)-1].PathSuffix == after {
			return errors.New("the name node sends the same page again and again")
		}
		after = list[len(list)-1].PathSuffix
	}
}

// page asks for the names behind one, again if the answer breaks off.
func (st *store) page(dir, after string) (list []status, more int64, err error) {
	for p := st.patient(); ; {
		c := call{"GET", "LISTSTATUS_BATCH", dir, url.Values{"startAfter": {after}}}
		if after == "" {
			c.query = nil
		}
		if st.whole.Load() {
			c = call{"GET", "LISTSTATUS", dir, nil}
		}
		resp, _, err := st.ask(st.s.reads, c)
		if r, answered := errors.AsType[*refusal](err); answered && r.status == http.StatusBadRequest && !st.whole.Load() && after == "" {
			st.whole.Store(true) // an older server that knows no pages
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		list, more, err = parsePage(resp.Body)
		_ = resp.Body.Close() // it was read
		if err == nil || !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errStall) {
			return list, more, err
		}
		if err = p.wait(err); err != nil {
			return nil, 0, err
		}
	}
}
