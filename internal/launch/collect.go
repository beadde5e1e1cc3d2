package launch

import (
	"os"
	"runtime"
	"runtime/debug"
)

// A run with a large budget allocates firstShare of it, and at most mostFirst, before the first garbage collection.
// Sorting alone first takes 16 MiB, so a small job would otherwise end with a collection that finds nothing.
const (
	firstShare = 8
	mostFirst  = 32 << 20
	leastHeap  = 4 << 20 // from which the runtime collects at 100 %
)

// collectLater delays the first garbage collection of a run with this budget. Afterwards the old setting applies
// again. If GOGC is set, it does nothing.
func collectLater(budget int64) {
	percent := int(100 * min(budget/firstShare, mostFirst) / leastHeap)
	if percent <= 100 || os.Getenv("GOGC") != "" {
		return
	}
	before := debug.SetGCPercent(percent)
	sentinel := new(*int) // unreferenced, so the first collection finds it
	runtime.AddCleanup(sentinel, func(percent int) { debug.SetGCPercent(percent) }, before)
}
