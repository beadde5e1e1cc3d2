// Package play shows what a scheduler did, decision by decision, in a browser. A [Recorder] listens to the rounds of a
// [drive.Loop], of a simulation or of a live cluster's decision log, and makes a [Recording]; [Write] puts one or two
// recordings on one clock into a page that needs no server. [Playground] serves a page that makes recordings itself: choose a
// workload, a cluster and two policies, run, play, change, run again.
//
// The package simulates nothing and knows no policy: the caller that records supplies both.
package play
