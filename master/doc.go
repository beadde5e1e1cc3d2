// Package master is the process that owns the names, the jobs and the scheduling. master/tracker,
// a state machine, decides; this package is the loop around it: one goroutine takes calls from
// the network and feeds them in, another waits for the journal and then lets the answers to
// clients and drivers go. Answers to workers go at once, but acknowledge only what is durable.
//
//	m, err := master.Start(cfg)   // on disk in cfg.Dir; recovers what an earlier master left
//	m.Addr()                      // where it listens
//	m.Close()
//
// Users' code never runs here.
package master
