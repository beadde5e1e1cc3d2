package disk

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Free asks the volume of a path how large it is and how much of it is free, in bytes.
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

// named reports an open file that has lost its name: it cannot be found again, and nothing in it.
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

// syncDir has nothing to do: the file system writes changes of names to its own journal.
func syncDir(*os.File) error { return nil }

// Ours reports that a file belongs to the user of this process: directories for passing files are each user's own here.
func Ours(fs.FileInfo) bool { return true }
