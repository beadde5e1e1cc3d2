package dfsbench

// flushDisks does nothing: Windows has no call that flushes all disks.
func flushDisks() {}
