//go:build unix

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns is how wide a terminal is, 0 if it does not say; false for what is no terminal.
func columns(f *os.File) (int, bool) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(ws.Col), true
}
