package launch

import (
	"os"
	"runtime"
	"runtime/debug"
)

// firstCollection is, in per cent of the runtime's least heap of 4 MiB, how much a run allocates before memory is collected for the first time.
// The first memory for sorting alone is 16 MiB: a small job would end with a collection that finds nothing.
const firstCollection = 800

// collectLater puts the first collection of memory off. From then on it is as it was. Whoever has set GOGC has decided already.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	before := debug.SetGCPercent(firstCollection)
	sentinel := new(*int) // nothing refers to it, so the first collection finds it
	runtime.AddCleanup(sentinel, func(percent int) { debug.SetGCPercent(percent) }, before)
}
