package bench

import "os"

// peakMemory does not know: this system forgets it with the process.
func peakMemory(*os.ProcessState) int64 { return 0 }
