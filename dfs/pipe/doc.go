// Package pipe is how the bytes of a block travel: packets down a pipeline of replicas
// and acknowledgements back up, and checked chunks from a replica to a reader. The
// client and the block service speak it with each other.
//
// A block is a row of chunks of [ChunkSize] bytes, the last one shorter. A packet is one
// chunk with its CRC32C, which every replica verifies before it writes, and keeps. A
// replica acknowledges what it and everybody behind it have; the last packet is
// acknowledged when the block is on disk, synced and under its final name.
//
// A [Sender] is the sending end; [Receive] the loop of a replica; [Fetch] reads.
package pipe
