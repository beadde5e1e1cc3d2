// Package blocks is the block service: it keeps replicas in data directories, serves and
// receives them, looks for rot, and carries out what the name service asks for.
//
// A [Store] is the replicas on disk; it knows no network. A [Service] puts it on the wire:
// [Service.Register] adds its routes to an rpc.Server, [Service.Run] reports to the name
// service until its context ends.
//
// A replica is written under a temporary name, synced, and renamed. Only then does it exist. The next start
// deletes whatever a dead process was still writing, since nobody was promised it. docs/formats/block.md has
// the layout.
package blocks
