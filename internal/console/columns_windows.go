package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// columns returns the width of a terminal, or false if f is none. It makes the terminal interpret control sequences.
func columns(f *os.File) (int, bool) {
	var mode uint32
	h := windows.Handle(f.Fd())
	if windows.GetConsoleMode(h, &mode) != nil {
		return 0, false
	}
	_ = windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) // old terminals show them unchanged
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(h, &info) != nil {
		return 0, true
	}
	return int(info.Window.Right-info.Window.Left) + 1, true
}
