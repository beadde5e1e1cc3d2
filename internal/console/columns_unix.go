//go:build unix

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns returns the width of a terminal, or 0 if it does not say. It reports false if f is not a terminal.
func columns(f *os.File) (int, bool) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(ws.Col), true
}
