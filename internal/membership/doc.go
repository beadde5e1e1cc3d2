// Package membership finds out by gossip who is in the cluster. It is the only importer of hashicorp/memberlist,
// which does the work. This package adds to members a role, a rack and an address, delivers events in order,
// measures round-trip times, and does what gossip does not: it finds the others again after a long partition.
//
// Membership is not fencing: a stopped process comes back with its old work. Whoever acts on a death must be able to
// undo that.
package membership
