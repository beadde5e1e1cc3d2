package emulate

import (
	"errors"
	"math/bits"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapFile maps the first bytes of a file, shared with all processes that do.
func mapFile(f *os.File, size int) ([]byte, error) {
	m, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READWRITE, 0, uint32(size), nil)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(m) // the view keeps it
	at, err := windows.MapViewOfFile(m, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE, 0, 0, uintptr(size))
	if err != nil {
		return nil, err
	}
	if at == 0 {
		return nil, errors.New("the file cannot be mapped")
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), size), nil // not in Go's heap: it never moves
}

func unmap(mem []byte) error { return windows.UnmapViewOfFile(uintptr(unsafe.Pointer(&mem[0]))) }

var (
	kernel  = windows.NewLazySystemDLL("kernel32.dll")
	counter = kernel.NewProc("QueryPerformanceCounter")
	perTick = sync.OnceValue(func() (perSecond uint64) {
		_, _, _ = kernel.NewProc("QueryPerformanceFrequency").Call(uintptr(unsafe.Pointer(&perSecond))) // it never fails
		return max(perSecond, 1)
	})
)

// clock returns a time that all processes of the machine share and that does not jump.
func clock() int64 {
	var ticks uint64
	_, _, _ = counter.Call(uintptr(unsafe.Pointer(&ticks))) // it never fails
	high, low := bits.Mul64(ticks, 1e9)
	ns, _ := bits.Div64(high%perTick(), low, perTick())
	return int64(ns)
}
