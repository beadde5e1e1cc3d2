// Package master is the process that owns the names, the jobs and the scheduling. Its mind is
// master/core, a state machine; this package is the thin loop around it: one goroutine takes
// calls from the network and feeds them in, another waits for the journal, and only then do
// answers go out.
//
//	m, err := master.Start(cfg)   // on disk in cfg.Dir; recovers what an earlier master left
//	m.Addr()                      // where it listens
//	m.Close()
//
// Users' code never runs here.
package master
