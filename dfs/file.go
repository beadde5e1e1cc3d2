package dfs

import (
	"context"
	"fmt"
	"io"
	"sort"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A File is open for reading at any offset, by several goroutines.
type File struct {
	c    *Client
	ctx  context.Context
	path string
	info wire.FileInfo
	wg   sync.WaitGroup
	sum  wholeSum

	mu     sync.Mutex // guards the fields below
	blocks []wire.LocatedBlock
	bad    map[wire.NodeName]time.Time // replicas that failed, and when
	idle   []*cursor                   // streams that later reads may continue, newest last
	locals map[wire.BlockID]*localBlock
	near   near
	pos    int64 // of Read and Seek
	closed bool
}

// Open opens a file. ctx bounds the reading too.
func (c *Client) Open(ctx context.Context, path string) (*File, error) {
	f := &File{c: c, ctx: ctx, path: path, bad: map[wire.NodeName]time.Time{}, locals: map[wire.BlockID]*localBlock{}}
	if err := f.locate(); err != nil {
		return nil, err
	}
	if f.info.Dir {
		return nil, wire.Errorf(wire.Invalid, "%s is a directory", path)
	}
	return f, nil
}

// locate fetches the places of all blocks.
func (f *File) locate() error {
	var all []wire.LocatedBlock
	for off := int64(0); ; {
		resp, err := f.c.Locate(f.ctx, f.path, off, -1)
		if err != nil {
			return err
		}
		if f.info.ID != 0 && resp.File.ID != f.info.ID {
			return wire.Errorf(wire.Stale, "%s was replaced while it was being read", f.path)
		}
		if f.info.ID == 0 {
			f.info = resp.File
		}
		all = append(all, resp.Blocks...)
		if len(resp.Blocks) == 0 {
			break
		}
		last := resp.Blocks[len(resp.Blocks)-1]
		if off = last.Off + last.Len; off >= f.info.Len {
			break
		}
	}
	f.mu.Lock()
	f.blocks = all
	f.mu.Unlock()
	return nil
}

// Size is the file's length when it was opened.
func (f *File) Size() int64 { return f.info.Len }

// Info describes the file as it was when it was opened.
func (f *File) Info() wire.FileInfo { return f.info }

// blockAt returns the block that holds an offset.
func (f *File) blockAt(off int64) (wire.LocatedBlock, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := sort.Search(len(f.blocks), func(i int) bool { return f.blocks[i].Off+f.blocks[i].Len > off })
	if i == len(f.blocks) || f.blocks[i].Off > off {
		return wire.LocatedBlock{}, false
	}
	return f.blocks[i], true
}

// ReadAt implements io.ReaderAt. It returns only verified bytes. Callers that read a range in order should
// announce it with WillRead.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	return f.readFull(p, off, f.ahead(off, len(p)))
}

// readFull fills p. Reads will end at until, so it asks for no more than that. The read that completes a file whose
// checksum is wrong returns nothing.
func (f *File) readFull(p []byte, off, until int64) (int, error) {
	n, err := f.readAll(p, off, until)
	if bad := f.sum.read(&f.info, p[:n], off); bad != nil {
		return 0, fmt.Errorf("read %s: %w", f.path, bad)
	}
	return n, err
}

func (f *File) readAll(p []byte, off, until int64) (int, error) {
	if off < 0 {
		return 0, wire.Errorf(wire.Invalid, "%s: read at %d", f.path, off)
	}
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if at >= f.info.Len {
			return done, io.EOF
		}
		n, err := f.readSome(p[done:], at, until)
		done += n
		if err != nil {
			return done, fmt.Errorf("read %s at %d: %w", f.path, at+int64(n), err)
		}
	}
	return done, nil
}

// readSome reads at least one byte from any replica. If none has it, it asks the name service again, since
// replicas move.
func (f *File) readSome(p []byte, off, until int64) (n int, err error) {
	err = rpc.Retry{First: 50 * time.Millisecond, For: f.c.cfg.Patience}.Do(f.ctx, func() error {
		b, ok := f.blockAt(off)
		if !ok {
			return wire.Errorf(wire.Corrupt, "no block holds it")
		}
		p = p[:min(int64(len(p)), b.Off+b.Len-off)]
		n, err = f.tryReplicas(p, b, off-b.Off, min(b.Len, until-b.Off))
		if n > 0 {
			return nil
		}
		if lerr := f.locate(); lerr != nil {
			return lerr
		}
		return err
	})
	return n, err
}

// tryReplicas reads from the local disk, kept chunks, an open stream, or a replica, in this order.
func (f *File) tryReplicas(p []byte, b wire.LocatedBlock, off, end int64) (int, error) {
	if n := f.readLocal(p, b, off); n > 0 {
		return n, nil
	}
	n, end := f.readNear(p, b.Block, off, end)
	if n > 0 {
		return n, nil
	}
	p = p[:min(int64(len(p)), end-off)]
	cur := f.takeCursor(b.Block, off)
	if cur == nil && small(p, off, end) {
		if n, err := f.fetchNear(p, b, off); n > 0 {
			return n, err
		} // the stream below tries the other replicas and reports what is wrong
	}
	if cur == nil || cur.end < end {
		if cur != nil {
			cur.close()
		}
		var err error
		if cur, err = f.openCursor(b, off, end); err != nil {
			return 0, err
		}
	}
	n, err := cur.read(p, f.c.cfg.Stall)
	if err != nil {
		f.blame(cur.place, b, err)
		cur.close()
		if n == 0 {
			return f.tryOthers(p, b, off, end, err)
		}
		return n, nil
	}
	f.keepCursor(cur)
	return n, nil
}

// tryOthers continues after a stream failed during a read.
func (f *File) tryOthers(p []byte, b wire.LocatedBlock, off, end int64, first error) (int, error) {
	for range b.Places {
		cur, err := f.openCursor(b, off, end)
		if err != nil {
			return 0, fmt.Errorf("%w (before that: %w)", err, first)
		}
		n, err := cur.read(p, f.c.cfg.Stall)
		if n > 0 {
			f.keepCursor(cur)
			return n, nil
		}
		f.blame(cur.place, b, err)
		cur.close()
		first = err
	}
	return 0, first
}

// blame remembers a replica that failed. If it is damaged, blame tells its node to check it.
func (f *File) blame(at wire.Place, b wire.LocatedBlock, err error) {
	f.mu.Lock()
	f.bad[at.Node] = time.Now()
	f.mu.Unlock()
	if wire.KindOf(err) != wire.Corrupt {
		return
	}
	ctx, cancel := context.WithTimeout(f.ctx, time.Second)
	defer cancel()
	// If this fails, the node's scrubber finds the damage.
	_, _ = api.BlockSuspect.Call(ctx, f.c.cfg.Client, at.Addr, wire.BlockRequest{Block: b.Block, Token: b.Token})
}

// Read continues where the last Read or Seek ended.
func (f *File) Read(p []byte) (int, error) {
	f.mu.Lock()
	pos := f.pos
	f.mu.Unlock()
	if pos >= f.info.Len {
		return 0, io.EOF
	}
	n, err := f.readFull(p[:min(int64(len(p)), f.info.Len-pos)], pos, f.info.Len)
	f.mu.Lock()
	f.pos = pos + int64(n)
	f.mu.Unlock()
	return n, err
}

// Seek sets where the next Read begins.
func (f *File) Seek(off int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		off += f.pos
	case io.SeekEnd:
		off += f.info.Len
	}
	if off < 0 {
		return f.pos, wire.Errorf(wire.Invalid, "%s: seek to %d", f.path, off)
	}
	f.pos = off
	return off, nil
}

// Close closes the streams and waits for requests that are still under way. It may be called twice.
func (f *File) Close() error {
	defer f.wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.idle {
		c.close()
	}
	for _, l := range f.locals {
		l.close()
	}
	f.idle, f.locals, f.closed = nil, nil, true
	return nil
}
