package webhdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
)

// Rename moves a file or directory in one step. A file may replace a file.
func (st *store) Rename(from, to string) error {
	if err := st.rename(path.Clean(from), path.Clean(to)); err != nil {
		return st.fail("move", from, fmt.Errorf("to %s: %w", to, err))
	}
	return nil
}

func (st *store) rename(from, to string) error {
	if st.plain.Load() {
		return st.renamePlainly(from, to)
	}
	err := st.renameAs(from, to, "NONE")
	if errors.Is(err, fs.ErrExist) && st.bothFiles(from, to) {
		return st.renameAs(from, to, "OVERWRITE")
	}
	return err
}

func (st *store) bothFiles(a, b string) bool {
	for _, p := range []string{a, b} {
		if i, err := st.stat(p); err != nil || i.IsDir() {
			return false
		}
	}
	return true
}

// renameAs moves with an option, by which the name node refuses, in the same step, what is in the way. Without one it
// would move into a directory.
func (st *store) renameAs(from, to, option string) error {
	body, unsure, err := st.answer(call{"PUT", "RENAME", from, url.Values{"destination": {to}, "renameoptions": {option}}})
	if err != nil && unsure && st.moved(from, to) {
		return nil // by the try whose answer was lost
	}
	if err != nil || len(body) == 0 {
		return err
	}
	st.plain.Store(true) // it answers what was asked without options
	return st.settle(body, from, to)
}

// moved reports whether a path is gone and the other is there.
func (st *store) moved(from, to string) bool {
	_, gone := st.stat(from)
	_, err := st.stat(to)
	return errors.Is(gone, fs.ErrNotExist) && err == nil
}

// renamePlainly moves by an HttpFS, which knows no options: it looks first, and again afterwards.
func (st *store) renamePlainly(from, to string) error {
	if _, err := st.stat(from); err != nil {
		return err
	}
	if st.bothFiles(from, to) {
		if err := st.RemoveAll(to); err != nil {
			return err
		}
	}
	if err := st.free(to); err != nil {
		return err
	}
	return st.renameAs(from, to, "NONE")
}

func (st *store) free(p string) error {
	_, err := st.stat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		return fmt.Errorf("%s: %w", p, fs.ErrExist)
	}
	return err
}

// settle finds out what a server did that knows no options. What it moved into a directory that was made meanwhile, it
// brings back. The directories of jobs have names of their own, so that none is in one of its name.
func (st *store) settle(body []byte, from, to string) error {
	done, err := parseBool(body)
	if err != nil {
		return err
	}
	if !done {
		if _, err := st.stat(from); err != nil {
			return err
		}
		if err := st.free(to); err != nil {
			return err
		}
		return fmt.Errorf("the server refuses, and does not say why: is there a directory %s?", path.Dir(to))
	}
	inside := path.Join(to, path.Base(from))
	if _, err := st.stat(inside); err != nil {
		return nil //nolint:nilerr // it is not there, as it should be, or the next call tells what is wrong
	}
	_, _, err = st.answer(call{"PUT", "RENAME", inside, url.Values{"destination": {from}}})
	return errors.Join(fmt.Errorf("%s: %w", to, fs.ErrExist), err)
}
