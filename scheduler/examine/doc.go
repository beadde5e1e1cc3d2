// Package examine checks that a policy keeps what every policy promises. It runs the policy through random clusters,
// workloads and faults, judges every decision by books of its own, and looks for the smallest situation in which a
// promise breaks.
//
//	for _, f := range examine.Policy(newMine, examine.Promises{}, 200, nil) {
//		fmt.Println(f)
//	}
//
// The event loop in here is no simulator: tasks only take time, there is no network and no disk.
package examine
