package pipe

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A reader asks GET /blocks/ID?gen=G&off=O&len=L&token=T. The answer is the checksums of the chunks that hold
// the range, u32 little endian each, and then these chunks in full.

// A Range is a part of a block with the token to read it. The reader knows the block's length, which is not
// sent.
type Range struct {
	Block    wire.Block
	Off, Len int64
	Token    string
}

// Path returns the path of the request.
func (r *Range) Path() string {
	return fmt.Sprintf("/blocks/%d?gen=%d&off=%d&len=%d&token=%s", uint64(r.Block.ID), r.Block.Gen, r.Off, r.Len, url.QueryEscape(r.Token))
}

// FetchPattern is the route of the request.
const FetchPattern = "GET /blocks/{id}"

// ParseFetch parses the request.
func ParseFetch(r *http.Request) (Range, error) {
	id, err1 := strconv.ParseUint(r.PathValue("id"), 10, 64)
	gen, err2 := strconv.ParseUint(r.FormValue("gen"), 10, 64)
	off, err3 := strconv.ParseInt(r.FormValue("off"), 10, 64)
	length, err4 := strconv.ParseInt(r.FormValue("len"), 10, 64)
	for _, e := range []error{err1, err2, err3, err4} {
		if e != nil {
			return Range{}, wire.Errorf(wire.Invalid, "block request %s: %w", r.URL.Path, e)
		}
	}
	if off < 0 || length <= 0 || off > off+length {
		return Range{}, wire.Errorf(wire.Invalid, "block request %s: range %d+%d", r.URL.Path, off, length)
	}
	return Range{wire.Block{ID: wire.BlockID(id), Gen: gen}, off, length, r.FormValue("token")}, nil
}

// Cover widens the range [off, off+length) of a block of size bytes to whole chunks.
func Cover(size, off, length int64) (from, to int64) {
	return off / ChunkSize * ChunkSize, min(size, Chunks(min(size, off+length))*ChunkSize)
}

// A Checked reader returns the bytes of a range of a block. It verifies each chunk before it returns its first
// byte. A damaged chunk is wire.Corrupt.
type Checked struct {
	body  io.ReadCloser
	crcs  []byte
	chunk []byte // the chunk being returned, if it did not fit the caller's buffer
	rest  []byte // what is left of it
	at    int64  // where in the block the next chunk begins
	end   int64  // where the last one ends
	off   int64  // where the range begins
	left  int64  // bytes that the caller still gets
	err   error  // returned after the verified bytes
	name  string
}

// Fetch opens a range of a block at one replica. r.Block.Len must be the block's length, and the range must lie
// in the block.
func Fetch(ctx context.Context, c *rpc.Client, from wire.Place, r Range) (*Checked, error) {
	resp, err := c.Get(ctx, from.Addr, r.Path())
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", r.Block.ID, from.Node, err)
	}
	return NewChecked(resp.Body, r.Block, r.Off, r.Len, fmt.Sprintf("%s on %s", r.Block.ID, from.Node))
}

// NewChecked returns a reader of the answer in body, which it closes.
func NewChecked(body io.ReadCloser, b wire.Block, off, length int64, name string) (*Checked, error) {
	at, end := Cover(b.Len, off, length)
	r := &Checked{body: body, at: at, end: end, off: off, left: length, name: name}
	r.crcs = make([]byte, 4*Chunks(end-at))
	if _, err := io.ReadFull(body, r.crcs); err != nil {
		body.Close()
		return nil, wire.Errorf(wire.Unavailable, "%s: checksums: %w", name, err)
	}
	return r, nil
}

// maxDirect is how much is read at once into the caller's buffer. A processor's cache holds it until it is
// verified.
const maxDirect = 8 * ChunkSize

// Read returns verified bytes. Whole chunks go straight into p where they fit, the ends of the range and small reads
// through a buffer.
func (r *Checked) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if len(r.rest) == 0 && r.err == nil {
		if n := r.fits(p); n > 0 {
			return r.direct(p[:n])
		}
		r.err = r.next()
	}
	if r.err != nil {
		return 0, r.err
	}
	n := copy(p[:min(int64(len(p)), r.left)], r.rest)
	r.rest, r.left = r.rest[n:], r.left-int64(n)
	return n, nil
}

// fits returns how many bytes of wanted whole chunks p can take.
func (r *Checked) fits(p []byte) int64 {
	n := min(int64(len(p)), r.left, maxDirect)
	switch {
	case r.off > r.at:
		return 0
	case n < r.end-r.at:
		return n - n%ChunkSize
	}
	return n
}

// direct reads whole chunks and verifies them while they are in the processor's cache. It returns what precedes
// a bad one.
func (r *Checked) direct(p []byte) (int, error) {
	begin := r.at
	got, err := io.ReadFull(r.body, p)
	whole := got - got%ChunkSize
	if err == nil {
		whole = got
	}
	if r.err = r.verifyAll(p[:whole]); r.err == nil && err != nil {
		r.err = wire.Errorf(wire.Unavailable, "%s: chunk at %d: %w", r.name, r.at, err)
	}
	n := r.at - begin
	if r.left -= n; n == 0 {
		return 0, r.err
	}
	return int(n), nil
}

// verifyAll checks chunk after chunk and stops at the first bad one.
func (r *Checked) verifyAll(p []byte) error {
	for len(p) > 0 {
		n := min(int64(len(p)), ChunkSize)
		if err := r.verify(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// verify checks the next chunk and advances past it.
func (r *Checked) verify(chunk []byte) error {
	want := binary.LittleEndian.Uint32(r.crcs)
	if got := Checksum(chunk); got != want {
		return wire.Errorf(wire.Corrupt, "%s: chunk at %d has checksum %08x, should be %08x", r.name, r.at, got, want)
	}
	r.crcs, r.at = r.crcs[4:], r.at+int64(len(chunk))
	return nil
}

// next reads and verifies one chunk into the buffer.
func (r *Checked) next() error {
	n := min(ChunkSize, r.end-r.at)
	if n <= 0 {
		return io.ErrUnexpectedEOF
	}
	if r.chunk == nil {
		r.chunk = make([]byte, n)
	}
	if _, err := io.ReadFull(r.body, r.chunk[:n]); err != nil {
		return wire.Errorf(wire.Unavailable, "%s: chunk at %d: %w", r.name, r.at, err)
	}
	skip := max(0, r.off-r.at)
	if err := r.verify(r.chunk[:n]); err != nil {
		return err
	}
	r.rest = r.chunk[skip:n]
	return nil
}

// Close ends the transfer.
func (r *Checked) Close() error { return r.body.Close() }
