//go:build unix

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns returns the width of a terminal, 0 if unknown, or false if f is none.
func columns(f *os.File) (int, bool) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(ws.Col), true
}
