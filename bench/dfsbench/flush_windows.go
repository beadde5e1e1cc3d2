package dfsbench

// flushDisks leaves it to the system, which lets nobody ask for all disks.
func flushDisks() {}
