// Package memnet is a network in memory for tests: hosts with addresses, packets that may be lost,
// doubled, late and out of order, and streams that are only late. [Network.Shape] says what each
// direction of each link is like, and may be called again at any time: to cut, to heal, to slow down.
//
// It has no goroutines and no clock of its own, so that it works inside a testing/synctest bubble,
// where a minute of gossip takes milliseconds. What happens to the n-th packet of a link follows from the
// seed alone.
//
// A cut loses packets. Streams keep what they carry, as TCP does, and go on when the link heals; a
// new one cannot be made until then.
package memnet
