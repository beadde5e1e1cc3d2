// Package worker is the process that owns disks and containers: it keeps blocks, runs attempts,
// and serves map output. Its mind is worker/roster; this package carries out what it decides.
//
//	w, err := worker.Start(cfg)
//	w.Addr()
//	w.Drain()    // finish what runs, take nothing new
//	w.Close()
package worker
