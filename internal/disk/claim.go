package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Claim says that the thing at a path belongs to a live process: the file PATH.lock is locked. It ends with the
// process, however that ends. [Sweep] then finds what is left.
type Claim struct{ lock *os.File }

const lockSuffix = ".lock"

// NewClaim claims a new path in a directory: prefix and a number. Nothing exists there yet.
func NewClaim(dir, prefix string) (*Claim, error) {
	for {
		f, err := os.CreateTemp(dir, prefix+"*"+lockSuffix)
		if err != nil {
			return nil, err
		}
		if c, err := lockClaim(f); c != nil || err != nil {
			return c, err
		}
	}
}

// lockClaim locks the file of a new claim. It returns nil if a sweep has removed the file before.
func lockClaim(f *os.File) (*Claim, error) {
	ours, err := TryLock(f, false)
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if ours && names(f) {
		return &Claim{f}, nil
	}
	return nil, f.Close()
}

// names reports whether a file still has its name.
func names(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// Path returns what is claimed.
func (c *Claim) Path() string { return strings.TrimSuffix(c.lock.Name(), lockSuffix) }

// Release ends the claim. What was claimed must be gone or have another name. Release of a nil Claim does nothing.
func (c *Claim) Release() {
	if c == nil {
		return
	}
	_ = c.lock.Close()           // no data is lost
	_ = os.Remove(c.lock.Name()) // a sweep may have been faster, or will do it
}

// TempDir makes and claims a directory in dir, or else among temporary files. It removes those of the same prefix
// whose processes are gone.
func TempDir(dir, prefix string) (*Claim, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if err := Sweep(dir, prefix, os.RemoveAll); err != nil {
		return nil, err
	}
	c, err := NewClaim(dir, prefix)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(c.Path(), 0o700); err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

// Remove removes the directory and ends the claim.
func (c *Claim) Remove() error {
	err := os.RemoveAll(c.Path())
	c.Release()
	return err
}

// Sweep calls clean for each path of a prefix in a directory whose claim has outlived its process, and then removes
// the claim. It skips what belongs to other users and cannot be opened.
func Sweep(dir, prefix string, clean func(path string) error) error {
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range list {
		number, ours := strings.CutPrefix(e.Name(), prefix)
		number, locked := strings.CutSuffix(number, lockSuffix)
		if ours && locked && e.Type().IsRegular() && strings.Trim(number, "0123456789") == "" {
			errs = append(errs, sweepOne(filepath.Join(dir, e.Name()), clean))
		}
	}
	return errors.Join(errs...)
}

func sweepOne(lock string, clean func(path string) error) error {
	f, err := os.OpenFile(lock, os.O_RDWR, 0)
	if err != nil {
		return nil //nolint:nilerr // it is gone, or another user's
	}
	c := &Claim{f}
	if ours, err := TryLock(f, false); !ours || err != nil || !names(f) {
		_ = f.Close()
		return nil //nolint:nilerr // its process lives, or another sweep was faster
	}
	err = clean(c.Path())
	if err != nil {
		_ = f.Close() // the next sweep tries again
		return err
	}
	c.Release()
	return nil
}
