// Package procs starts processes that belong together, and ends processes, on every system that Go knows.
//
//	cmd := exec.Command("sh", "-c", "sleep 100 & sleep 100")
//	group, err := procs.Start(cmd)
//	...
//	group.Kill() // both of them
package procs
