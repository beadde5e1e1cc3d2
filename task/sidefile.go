package task

import (
	"errors"
	"io"
	"os"
)

// PlaceSide gives a side file another name: by a link if the user may make one, otherwise by a copy.
func PlaceSide(file, name string) error {
	err := os.Symlink(file, name)
	if errors.Is(err, os.ErrExist) {
		return err
	}
	if _, missing := os.Stat(name); err == nil && missing == nil { // some systems report success and make no link
		return nil
	}
	if os.Link(file, name) == nil {
		return nil
	}
	return CopyFile(file, name)
}

// CopyFile makes an executable copy of a file.
func CopyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
