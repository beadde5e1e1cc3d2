// Package membership is who is in the cluster, by gossip. It is the only importer of
// hashicorp/memberlist, which does the work; this package gives members a role, a rack and an
// address, hands events over in order, measures round-trip times, and does what gossip does not do
// by itself: find the others again after a long partition.
//
// Membership is not fencing: a stopped process comes back with its old work. Whoever acts on a
// death must be able to take it back.
package membership
