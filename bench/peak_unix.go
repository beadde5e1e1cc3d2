//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

// peakMemory returns the peak memory of an ended process in bytes, or 0 if the system does not say.
func peakMemory(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss) // others count in KiB
	}
	return int64(usage.Maxrss) << 10
}
