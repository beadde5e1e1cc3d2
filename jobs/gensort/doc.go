// Package gensort makes and checks the 100-byte records of the Sort Benchmark.
//
// The records are those of Hadoop's TeraGen, byte for byte: a 10-byte key, a row
// number in hexadecimal and filler, all drawn from one 128-bit linear congruential
// generator. The keys are those of the benchmark's own gensort program; the rest of
// a binary record is not. ASCII asks for the printable form of gensort -a, one line
// a record, which is the same in every byte.
// docs/formats/tera.md draws both.
//
// A row depends on its number only. Rows [a, b) are therefore made by
//
//	g := gensort.NewGenerator(gensort.Uint128{Lo: a}, gensort.Binary)
//	g.Fill(buf) // len(buf) a multiple of RecordSize
//
// on any goroutine, in any order, and the pieces concatenate to the whole.
// Seeking to a row costs one 128-bit multiplication for each bit set in its number.
//
// A sorted output is judged by the rules of valsort. Feed the records of a part to Summary.Add in file order, then
// join the summaries of all parts with Summary.Merge in part order. The result is that of one pass over the whole.
// Input and output hold the same records if their counts and Checksums agree.
//
// Nothing here is safe for concurrent use: one Generator or Summary belongs to
// one goroutine.
package gensort
