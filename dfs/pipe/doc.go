// Package pipe moves the bytes of a block: packets down a pipeline of replicas and acknowledgements back up,
// and verified chunks from a replica to a reader. Both the client and the block service use it.
//
// A block is a sequence of chunks of [ChunkSize] bytes, of which the last may be shorter. A packet is one chunk
// with its CRC32C, which every replica verifies before it writes, and stores. A replica acknowledges what it
// and all replicas behind it have. The last packet is acknowledged when the block is on disk, synced and under
// its final name.
//
// A [Sender] is the sending end, [Receive] the loop of a replica; [Fetch] reads.
package pipe
