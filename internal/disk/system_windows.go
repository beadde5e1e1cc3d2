package disk

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Free returns the size of the volume of a path and how much of it is free, in bytes.
func Free(path string) (total, free int64, err error) {
	p, err := windows.UTF16PtrFromString(path)
	var t, f uint64
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(p, &f, &t, nil)
	}
	if err != nil {
		return 0, 0, &fs.PathError{Op: "GetDiskFreeSpaceEx", Path: path, Err: err}
	}
	return int64(t), int64(f), nil
}

// named returns an error for an open file that has lost its name, since it cannot be found again.
func named(f *os.File) error {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return &fs.PathError{Op: "GetFileInformationByHandle", Path: f.Name(), Err: err}
	}
	if info.NumberOfLinks == 0 {
		return fmt.Errorf("%s was removed while it was in use: %w", f.Name(), fs.ErrNotExist)
	}
	return nil
}

// syncDir does nothing: the file system writes changes of names to its own journal.
func syncDir(*os.File) error { return nil }

// Ours returns true: on this system each user has a directory of their own for passing files.
func Ours(fs.FileInfo) bool { return true }
