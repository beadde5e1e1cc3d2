package textgen

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A TableConfig describes lines with several columns, for the examples and for courses.
type TableConfig struct {
	// Kind is graph, points, visits or matrix.
	Kind string
	// Seed chooses one of 2^64 files. Any value is good.
	Seed uint64
	// Things is the number of a graph's nodes, of the centres of points, of visited pages, or of a matrix's rows and
	// columns: 1 to 2^24; 0 means the usual number for the kind.
	Things int
}

// kind is a sort of table.
type kind struct {
	things int // usual number
	make   func(t *Table) func(line []byte, rng *rand.PCG) []byte
}

var kinds = map[string]kind{
	// FROM TO: any page links to another, most often to those with small numbers.
	"graph": {1000, func(t *Table) func([]byte, *rand.PCG) []byte {
		popular := newZipf(t.config.Things, 1)
		return func(line []byte, rng *rand.PCG) []byte {
			line = number(append(line, 'n'), t.any(rng))
			return number(append(line, ' ', 'n'), int(popular.draw(rng.Uint64())))
		}
	}},
	// X Y, both between -1200 and 1200: the centres are on a circle of radius 1000, points within 200 of them.
	"points": {5, func(t *Table) func([]byte, *rand.PCG) []byte {
		return func(line []byte, rng *rand.PCG) []byte {
			x, y := circle(t.any(rng), t.config.Things)
			line = strconv.AppendInt(line, x+scatter(rng), 10)
			return strconv.AppendInt(append(line, ' '), y+scatter(rng), 10)
		}
	}},
	// SECOND USER PAGE MILLISECONDS: a day of visits, popular pages by Zipf's law.
	"visits": {500, func(t *Table) func([]byte, *rand.PCG) []byte {
		popular := newZipf(t.config.Things, 1)
		return func(line []byte, rng *rand.PCG) []byte {
			line = strconv.AppendInt(line, int64(below(rng, 86400)), 10)
			line = number(append(line, " u"...), below(rng, 10*t.config.Things))
			line = number(append(line, " /page/"...), int(popular.draw(rng.Uint64())))
			return strconv.AppendInt(append(line, ' '), int64(1+below(rng, 999)), 10)
		}
	}},
	// MATRIX ROW COLUMN VALUE, of matrices A and B. The values of an entry that appears twice are added.
	"matrix": {100, func(t *Table) func([]byte, *rand.PCG) []byte {
		return func(line []byte, rng *rand.PCG) []byte {
			line = append(line, "AB"[rng.Uint64()>>63])
			line = strconv.AppendInt(append(line, ' '), int64(t.any(rng)), 10)
			line = strconv.AppendInt(append(line, ' '), int64(t.any(rng)), 10)
			return strconv.AppendInt(append(line, ' '), int64(below(rng, 19))-9, 10)
		}
	}},
}

// Kinds returns the kinds of tables, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// UsualThings returns how many things a table of a kind has by default.
func UsualThings(kind string) int { return kinds[kind].things }

// A Table makes the blocks of one table.
type Table struct {
	config TableConfig
	line   func(line []byte, rng *rand.PCG) []byte
}

// NewTable prepares a table.
func NewTable(c TableConfig) (*Table, error) {
	k, ok := kinds[c.Kind]
	if !ok {
		return nil, fmt.Errorf("table: unknown kind %q, want one of %s", c.Kind, strings.Join(Kinds(), ", "))
	}
	if c.Things == 0 {
		c.Things = k.things
	}
	if c.Things < 1 || c.Things > maxChoices {
		return nil, fmt.Errorf("table: %d things, want 1 to %d", c.Things, maxChoices)
	}
	t := &Table{config: c}
	t.line = k.make(t)
	return t, nil
}

// Fill writes a block of exactly len(dst) bytes: whole lines, of which the last is padded with spaces. A block too
// short for any line is all newlines.
func (t *Table) Fill(dst []byte, block uint64) {
	rng := blockSource(t.config.Seed, block)
	var line []byte
	end := 0 // of the last line, before its newline
	for used := 0; ; {
		if line = append(t.line(line[:0], rng), '\n'); used+len(line) > len(dst) {
			break
		}
		used += copy(dst[used:], line)
		end = used - 1
	}
	if end == 0 {
		for i := range dst {
			dst[i] = '\n'
		}
		return
	}
	for i := end; i < len(dst); i++ {
		dst[i] = ' '
	}
	dst[len(dst)-1] = '\n'
}

func (t *Table) any(rng *rand.PCG) int { return below(rng, t.config.Things) }

func below(rng *rand.PCG, n int) int {
	k, _ := bits.Mul64(rng.Uint64(), uint64(n))
	return int(k)
}

func number(line []byte, n int) []byte { return strconv.AppendInt(line, int64(n), 10) }

// scatter returns a whole number from -200 to 200, most often near 0: the sum of four.
func scatter(rng *rand.PCG) (sum int64) {
	for range 4 {
		sum += int64(below(rng, 101)) - 50
	}
	return sum
}

// circle returns point i of n on a circle of radius 1000, in whole numbers that are the same on every machine. It
// walks around a polygon with 24 corners.
func circle(i, n int) (x, y int64) {
	cos := [...]int64{1000, 966, 866, 707, 500, 259, 0, -259, -500, -707, -866, -966, -1000, -966, -866, -707, -500, -259, 0, 259, 500, 707, 866, 966}
	corner := i * len(cos) / n % len(cos)
	return cos[corner], cos[(corner+18)%len(cos)]
}
