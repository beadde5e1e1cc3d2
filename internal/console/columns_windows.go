package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// columns is how wide a terminal is; false for what is no terminal. It is told to understand the signs of a progress line.
func columns(f *os.File) (int, bool) {
	var mode uint32
	h := windows.Handle(f.Fd())
	if windows.GetConsoleMode(h, &mode) != nil {
		return 0, false
	}
	_ = windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) // an old one shows them as they are
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(h, &info) != nil {
		return 0, true
	}
	return int(info.Window.Right-info.Window.Left) + 1, true
}
