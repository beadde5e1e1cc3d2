package local

// fileLimit says that no limit of open files matters here.
func fileLimit() uint64 { return 0 }
