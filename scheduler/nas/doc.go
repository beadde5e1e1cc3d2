// Package nas schedules for clusters whose racks share thin links to the core:
// NAS, its ablations, and ShuffleWatcher as its baseline.
//
// NAS spreads shuffle traffic over time and space. MTS picks maps so that what
// one node is producing stays below a threshold; CA-RTS places a job's reduces in
// proportion to where its map output lies and lets small shuffles start late;
// CR-RTS takes over in a rack whose link is congested and lets only jobs with
// little to shuffle start there.
//
// The driver must feed NetSample for every rack about once a second (netmon
// makes them), report input and output bytes of finished maps, and call
// Engine.Tick when due.
//
// What happens where: estimate.go predicts shuffle sizes, formula.go has the
// published formulas, mts.go and candidate.go choose maps, reduce.go, carts.go
// and crrts.go choose reduces, watcher.go is ShuffleWatcher. Section numbers in
// comments are those of spec/nas.
package nas
