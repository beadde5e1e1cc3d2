package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Lock says that a directory is in use. It ends with its process, at the latest.
type Lock struct{ file *os.File }

// LockDir makes a directory if needed and locks it for who. If the directory is in use, the error says by whom.
func LockDir(dir, who string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ours, err := TryLock(f, false)
	if err == nil && !ours {
		return nil, errors.Join(fmt.Errorf("%s is in use by %s: stop it, or give another directory", dir, readNote(f)), f.Close())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%s, process %d\n", who, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return &Lock{f}, nil
}

// readNote reads who has locked a directory.
func readNote(f *os.File) string {
	b := make([]byte, 200)
	n, _ := f.ReadAt(b, 0) // the holder may not have written it yet
	return strings.TrimSpace(string(b[:n]))
}

// Close unlocks the directory. Close of a nil Lock does nothing.
func (l *Lock) Close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
