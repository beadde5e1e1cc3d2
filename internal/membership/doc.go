// Package membership is who is in the cluster, by gossip. It is the only importer of
// hashicorp/memberlist.
package membership
