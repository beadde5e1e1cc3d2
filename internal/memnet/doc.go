// Package memnet is a network in memory for tests: hosts with addresses, packets that may be lost, duplicated, late
// and out of order, and streams that are only late. [Network.Shape] sets the properties of each direction of each
// link. It may be called again at any time, to cut, to heal, to slow down.
//
// It has no goroutines and no clock of its own, so that it works inside a testing/synctest bubble, where a minute of
// gossip takes milliseconds. What happens to the n-th packet of a link depends on the seed alone.
//
// A cut loses packets. Streams keep what they carry, as TCP does, and continue when the link heals. No new stream
// can be opened until then.
package memnet
