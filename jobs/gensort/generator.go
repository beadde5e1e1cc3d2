package gensort

import "fmt"

// Generator makes consecutive records, starting with a chosen row.
type Generator struct {
	row  Uint128
	rand Uint128 // the random number of the row before row
	put  func(dst *[RecordSize]byte, r, row Uint128)
}

// NewGenerator returns a generator whose first record is that of row.
func NewGenerator(row Uint128, form Form) *Generator {
	g := &Generator{row: row, rand: skip(row), put: putBinary}
	if form == ASCII {
		g.put = putASCII
	}
	return g
}

// Row returns the number of the next record.
func (g *Generator) Row() Uint128 { return g.row }

// Next writes the next record to dst.
func (g *Generator) Next(dst *[RecordSize]byte) {
	g.rand = step.apply(g.rand)
	g.put(dst, g.rand, g.row)
	g.row = g.row.Add(Uint128{Lo: 1})
}

// Fill fills dst with records. It panics unless len(dst) is a multiple of RecordSize, since half a record could not
// be continued later.
func (g *Generator) Fill(dst []byte) {
	if len(dst)%RecordSize != 0 {
		panic(fmt.Sprintf("gensort: Fill: length %d is not a multiple of %d", len(dst), RecordSize))
	}
	for ; len(dst) > 0; dst = dst[RecordSize:] {
		g.Next((*[RecordSize]byte)(dst))
	}
}
