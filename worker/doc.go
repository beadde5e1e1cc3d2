// Package worker is the process that owns disks and containers: it keeps blocks, runs attempts, and serves map
// output. worker/roster makes its decisions; this package carries them out.
//
//	w, err := worker.Start(cfg)
//	w.Addr()
//	w.Drain()    // finish what runs, take nothing new
//	w.Close()
package worker
