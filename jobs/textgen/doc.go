// Package textgen generates test data of any size, the same on every machine: text whose words follow Zipf's law,
// and key-value records whose keys do.
//
// A data set is a sequence of blocks. A block depends only on the Config and its index, so any number of goroutines
// can make a file of n bytes:
//
//	text, err := textgen.NewText(textgen.DefaultTextConfig())
//	text.Fill(buf, i) // buf is bytes [i*BlockBytes, i*BlockBytes+len(buf)) of the file
//
// where every buffer but the last has BlockBytes bytes. Each block ends with a
// newline, so blocks concatenate to whole lines whatever the file's size.
//
// Text and Records are read-only after New, so any number of goroutines may call Fill at once.
package textgen

// BlockBytes is the length of a block, in bytes; the last of a file is shorter.
const BlockBytes = 1 << 20
