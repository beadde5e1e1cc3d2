package launch

import (
	"os"
	"runtime"
	"runtime/debug"
)

// A run of a large budget allocates firstShare of it, and at most mostFirst, before memory is collected for the first time. The first memory for
// sorting alone is 16 MiB: a small job would end with a collection that finds nothing.
const (
	firstShare = 8
	mostFirst  = 32 << 20
	leastHeap  = 4 << 20 // from which the runtime collects at 100 %
)

// collectLater puts the first collection of memory of a run with this budget off. From then on it is as it was. Whoever has set GOGC has decided already.
func collectLater(budget int64) {
	percent := int(100 * min(budget/firstShare, mostFirst) / leastHeap)
	if percent <= 100 || os.Getenv("GOGC") != "" {
		return
	}
	before := debug.SetGCPercent(percent)
	sentinel := new(*int) // nothing refers to it, so the first collection finds it
	runtime.AddCleanup(sentinel, func(percent int) { debug.SetGCPercent(percent) }, before)
}
