// Package master owns the names, the jobs and the scheduling. The state machine master/tracker decides; this package is
// the loop around it. One goroutine takes calls from the network and feeds them in. Another waits for the journal and
// then releases the answers to clients and drivers. Answers to workers go at once, but acknowledge only what is
// durable.
//
//	m, err := master.Start(cfg)   // on disk in cfg.Dir; recovers what an earlier master left
//	m.Addr()                      // where it listens
//	m.Close()
//
// Users' code never runs here.
package master
