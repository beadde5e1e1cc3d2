// Package shuffle carries records from map tasks to reduce tasks: it collects
// them, sorts them, combines or folds them, spills what does not fit in memory
// and merges everything into one sorted stream per partition. It works on
// bytes and knows nothing of jobs.
//
// Three calls matter:
//
//	c, err := shuffle.NewCollector(ctx, cfg)   // one per map attempt
//	defer c.Discard()                          // harmless after Finish
//	... c.Add(key, value) ...
//	out, err := c.Finish()                     // now, and only now, visible
//
//	run, err := shuffle.Merge(ctx, mcfg, sources) // one per reduce attempt
//	defer run.Close()
//	for run.Next() { use(run.Key(), run.Value()) }
//	err = run.Err()
//
// # Memory
//
// All memory that grows with the data comes from one Pool, whose budget is a hard bound. A collector reserves a
// small floor when it is made, and may wait for it. After that it never waits for others while it holds memory: if
// it is refused a block, it spills what it has. A merge takes all its buffers in one reservation. So no two users of
// a pool can wait for each other. Outputs kept in memory are moved to disk, largest first, when another user needs
// the room. Outside the budget are the caller's own slices, a single record that is larger than a block (see
// Config.MaxRecord), and the state of the compressors.
//
// # Duties of the caller
//
//   - Use one goroutine per Collector and per Run. An Output and a Pool may be
//     shared freely.
//   - Call Discard (collector), Close (run, intake) and Release (output) exactly when
//     done; each may be called twice. Pool.InUse is zero when everything was given back.
//   - Keep Config.Dir until the last Output made from it is released.
//   - Cancel the context to stop work; whatever was started returns its error.
//   - Compare, Partition, Combine and Fold functions must be deterministic, and
//     Compare a strict weak order. They must not keep the slices they are given.
//
// # Order
//
// Records are ordered by key. Records with equal keys keep the order in which they were added, and across sources
// the order of the sources.
package shuffle
