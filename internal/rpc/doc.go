// Package rpc carries calls and bulk data between the processes of a cluster, over one
// port each.
//
// A [Server] has methods, registered with [Handle] under a name and a [Rule] that says
// who may call them. A method can be called in two ways, with the same JSON inside:
// as POST /api/v1/NAME, which any HTTP client can do, and over a connection that was
// upgraded to frames, on which many calls are under way at once. [Call] uses the second:
// it is several times as fast, and the death of a peer ends its calls at once.
//
// Bulk data has two forms as well: plain HTTP handlers ([Server.HandleHTTP]), from which files are sent with
// sendfile, and [Server.HandleStream], which hands over the connection.
//
// Every byte is counted by peer and kind in a [Meter]; a [Shaper] may slow it down.
//
// A Server and a Client must be closed by their owner; Close waits for what they started. A handler must return when
// its context ends.
package rpc
