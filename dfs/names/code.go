package names

import (
	"encoding/binary"
	"errors"

	"github.com/millrace/millrace/internal/wire"
)

// maxText bounds a string in a record.
const maxText = 8 << 10

var errShort = errors.New("ends in the middle of a field")

// A coder writes fields to b, or with read takes them from it: one description of a
// record serves both ways.
type coder struct {
	b    []byte
	read bool
	err  error
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// uint codes a number in one to ten bytes.
func (c *coder) uint(v *uint64) {
	if !c.read {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	got, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail(errShort)
		*v, c.b = 0, nil
		return
	}
	*v, c.b = got, c.b[n:]
}

// num codes any whole number; negative ones take ten bytes.
func num[T ~int | ~int64 | ~uint64 | ~uint32 | ~uint8](c *coder, p *T) {
	v := uint64(*p)
	c.uint(&v)
	if *p = T(v); c.read && uint64(*p) != v {
		c.fail(errors.New("a number is out of range"))
	}
}

// byte codes one byte.
func (c *coder) byte(p *byte) {
	if !c.read {
		c.b = append(c.b, *p)
		return
	}
	if len(c.b) == 0 {
		c.fail(errShort)
		*p = 0
		return
	}
	*p, c.b = c.b[0], c.b[1:]
}

// flags codes up to eight truths in one byte.
func (c *coder) flags(list ...*bool) {
	var v byte
	for i, p := range list {
		if *p {
			v |= 1 << i
		}
	}
	c.byte(&v)
	for i, p := range list {
		*p = v&(1<<i) != 0
	}
	if v>>len(list) != 0 {
		c.fail(errors.New("an unknown flag is set"))
	}
}

// text codes a string.
func (c *coder) text(p *string) {
	n := uint64(len(*p))
	c.uint(&n)
	if !c.read {
		c.b = append(c.b, *p...)
		return
	}
	if n > maxText || n > uint64(len(c.b)) {
		c.fail(errShort)
		*p, c.b = "", nil
		return
	}
	*p, c.b = string(c.b[:n]), c.b[n:]
}

// names codes a short list of node names.
func (c *coder) names(p *[]wire.NodeName) {
	n := uint64(len(*p))
	c.uint(&n)
	if c.read {
		if n > uint64(len(c.b)) {
			c.fail(errShort)
			return
		}
		*p = make([]wire.NodeName, n)
		if n == 0 {
			*p = nil
		}
	}
	for i := range *p {
		c.text((*string)(&(*p)[i]))
	}
}

func (c *coder) block(b *wire.Block) {
	num(c, &b.ID)
	num(c, &b.Gen)
	num(c, &b.Len)
}
