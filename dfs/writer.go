package dfs

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
)

// CreateOptions say how to store a file. Zero values mean the cluster's defaults.
type CreateOptions struct {
	Replication int
	BlockSize   int64
	Overwrite   bool // replace an existing file, at Close
	NoParents   bool // fail if the directory does not exist
	Racks       []string
}

// A Writer is a file being written. Only one goroutine may use it. Nobody sees the file until Close has
// returned nil. After any error the file is given up.
type Writer struct {
	c     *Client
	ctx   context.Context
	file  wire.FileInfo
	racks []string

	buf    *pipe.Buffer // the chunk being filled, or nil
	n      int
	crc    uint32
	size   int64
	block  *outBlock // being written, nil between blocks
	prev   *wire.Block
	stored []wire.NodeName
	bad    []wire.NodeName // nodes that failed
	spare  []*pipe.Buffer
	closed bool
	err    error
}

// Create opens a new file for writing. ctx bounds the writing too.
func (c *Client) Create(ctx context.Context, path string, o CreateOptions) (*Writer, error) {
	resp, err := callOn(ctx, c, api.DFSCreate, wire.CreateRequest{
		Path: path, User: c.cfg.User, Holder: c.holder, Replication: o.Replication, BlockSize: o.BlockSize,
		Overwrite: o.Overwrite, Parents: !o.NoParents, Request: rand.Text(), Umask: c.cfg.Umask,
	}, path)
	if err != nil {
		return nil, err
	}
	c.holdLease()
	return &Writer{c: c, ctx: ctx, file: resp.File, racks: o.Racks}, nil
}

// Write appends bytes to the file.
func (w *Writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, wire.Errorf(wire.Invalid, "%s: write after close", w.file.Path)
	}
	done := 0
	for done < len(p) && w.err == nil {
		w.needBuffer()
		n := copy(w.buf.Room()[w.n:w.room()], p[done:])
		w.n, done = w.n+n, done+n
		if w.n == w.room() {
			w.err = w.flush(w.offset()+int64(w.n) == w.file.BlockSize)
		}
	}
	return done, w.err
}

// offset returns where in its block the chunk being filled begins.
func (w *Writer) offset() int64 {
	if w.block == nil {
		return 0
	}
	return w.block.off
}

// room returns how many bytes that chunk may hold.
func (w *Writer) room() int { return int(min(pipe.ChunkSize, w.file.BlockSize-w.offset())) }

// flush sends the chunk. With last it also ends the block.
func (w *Writer) flush(last bool) error {
	if w.block == nil {
		if err := w.nextBlock(); err != nil {
			return err
		}
	}
	w.needBuffer()
	p := w.buf.Seal(w.n, w.block.off, last)
	w.crc, w.size = pipe.Combine(w.crc, p.CRC, int64(w.n)), w.size+int64(w.n)
	full := w.buf
	w.buf, w.n = nil, 0
	if err := w.block.send(w, full, p); err != nil {
		return fmt.Errorf("write %s: %w", w.file.Path, err)
	}
	if !last {
		return nil
	}
	b, nodes, err := w.block.finish(w)
	if err != nil {
		return fmt.Errorf("write %s: %w", w.file.Path, err)
	}
	w.prev, w.stored, w.block = &b, nodes, nil
	return nil
}

// needBuffer provides a chunk to fill.
func (w *Writer) needBuffer() {
	if w.buf != nil {
		return
	}
	if n := len(w.spare); n > 0 {
		w.buf, w.spare = w.spare[n-1], w.spare[:n-1]
		return
	}
	w.buf = new(pipe.Buffer)
}

// nextBlock asks for a block and opens its pipeline. Nodes that cannot be reached are excluded and replaced.
func (w *Writer) nextBlock() error {
	var last error
	for range maxTries {
		pl, err := call(w.ctx, w.c, api.DFSAddBlock, wire.AddBlockRequest{
			File: w.file.ID, Holder: w.c.holder, Writer: w.c.cfg.Node, Previous: w.prev, Stored: w.stored, Exclude: w.bad, Hints: w.racks,
		})
		if wire.KindOf(err) == wire.Unavailable && len(w.bad) > 0 && err != nil {
			w.bad = nil // a node that failed before is better than none
			continue
		}
		if err != nil {
			if last != nil {
				err = fmt.Errorf("%w (before that: %w)", err, last)
			}
			return fmt.Errorf("write %s: %w", w.file.Path, err)
		}
		b := newOutBlock(pl, w.file.BlockSize)
		if last = b.open(w, false); last == nil {
			w.block = b
			return nil
		}
		if err := b.recover(w); err == nil {
			w.block = b
			return nil
		}
	}
	return fmt.Errorf("write %s: no pipeline after %d tries: %w", w.file.Path, maxTries, last)
}

// maxTries bounds how often a block is begun or its pipeline mended.
const maxTries = 10

// Close ends the file. When it returns nil, the file exists under its name and its bytes are on disk. It may be
// called twice.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	defer w.c.dropLease()
	if w.err == nil && (w.n > 0 || w.block != nil) {
		w.err = w.flush(true)
	}
	if w.err == nil {
		_, err := call(w.ctx, w.c, api.DFSComplete, wire.CompleteRequest{
			File: w.file.ID, Holder: w.c.holder, Last: w.prev, Stored: w.stored, CRC: w.crc,
		})
		w.err = err
	}
	if w.err != nil {
		w.abandon()
	}
	return w.err
}

// Abort gives the file up: nobody will see any of it.
func (w *Writer) Abort() {
	if w.closed {
		return
	}
	w.closed = true
	w.err = wire.Errorf(wire.Canceled, "%s: writing was given up", w.file.Path)
	w.abandon()
	w.c.dropLease()
}

// Pipeline lists the nodes to which the current block is written.
func (w *Writer) Pipeline() (nodes []wire.NodeName) {
	if w.block != nil {
		for _, h := range w.block.hops {
			nodes = append(nodes, h.Node)
		}
	}
	return nodes
}

// Forget drops the file as a dying process would: the name service is not told.
func (w *Writer) Forget() {
	if w.closed {
		return
	}
	w.closed = true
	w.err = wire.Errorf(wire.Canceled, "%s: writing was given up", w.file.Path)
	if w.block != nil {
		w.block.close()
	}
	w.c.dropLease()
}

func (w *Writer) abandon() {
	if w.block != nil {
		w.block.close()
	}
	// If this does not arrive, the file ends with the lease.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), w.c.cfg.LeaseEvery*2)
	defer cancel()
	_, _ = rpcCall(ctx, w.c, api.DFSAbandon, wire.LeaseRequest{Holder: w.c.holder, File: w.file.ID})
}

// Sync does nothing, since a file becomes durable as a whole, at Close.
func (w *Writer) Sync() error { return w.err }

// Size returns how many bytes were written.
func (w *Writer) Size() int64 { return w.size + int64(w.n) }

// CRC returns the CRC32C of what was sent so far; after Close, of the file.
func (w *Writer) CRC() uint32 { return w.crc }
