// Package dfsbench measures the block store on this machine: a cluster of real processes,
// against what dd and cat do with the same bytes in the same run.
//
//	rows, err := dfsbench.Run(ctx, dfsbench.Setup{Self: "/usr/bin/millrace", Dir: "/tmp/b", Size: 1e9, Rounds: 3}, say)
package dfsbench
