// Package procs starts processes in groups and ends them, on every system that Go supports.
//
//	cmd := exec.Command("sh", "-c", "sleep 100 & sleep 100")
//	group, err := procs.Start(cmd)
//	...
//	group.Kill() // both of them
package procs
