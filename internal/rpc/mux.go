package rpc

import (
	"bufio"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A frameConn writes and reads frames. It collects writes of many goroutines: while one of them is in the system
// call, the others append to the next buffer.
type frameConn struct {
	conn     net.Conn
	in       *bufio.Reader
	limit    int
	patience func(n int) time.Duration // how long a write of n bytes may take; nil: forever

	mu      sync.Mutex // guards the fields below
	buf     []byte     // frames not yet passed to the system
	spare   []byte     // the other buffer
	writing bool       // some goroutine is in conn.Write
	room    sync.Cond  // signalled when buf was taken
	err     error      // the first failed write
}

const (
	maxGather = 4 << 20  // bounds what waits to be written; a sender past it waits
	maxSpare  = 64 << 10 // bounds the buffer that each of a user's many connections keeps for its next frames
)

func newFrameConn(c net.Conn, in *bufio.Reader, limit int) *frameConn {
	if in == nil {
		in = bufio.NewReaderSize(c, 64<<10)
	}
	f := &frameConn{conn: c, in: in, limit: limit}
	f.room.L = &f.mu
	return f
}

// send queues a frame and, if nobody else is writing, writes until the queue is empty.
func (f *frameConn) send(h header, name string, payload []byte) error {
	if len(name)+len(payload) > f.limit {
		return wire.Errorf(wire.TooLarge, "message %s of %d bytes, the limit is %d", name, len(payload), f.limit)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.err == nil && len(f.buf) > maxGather {
		f.room.Wait()
	}
	if f.err != nil {
		return f.err
	}
	f.buf = appendFrame(f.buf, h, name, payload)
	if f.writing {
		return nil
	}
	f.writing = true
	f.mu.Unlock()
	runtime.Gosched() // lets others who are about to send join the same write
	f.mu.Lock()
	for f.err == nil && len(f.buf) > 0 {
		out := f.buf
		f.buf = f.spare[:0]
		f.room.Broadcast()
		f.mu.Unlock()
		err := f.write(out)
		f.mu.Lock()
		if f.spare = out; cap(out) > maxSpare {
			f.spare = nil
		}
		if err != nil {
			f.err = err
		}
	}
	f.writing = false
	f.room.Broadcast()
	return f.err
}

// write passes bytes to the system. After a failure the connection is unusable.
func (f *frameConn) write(b []byte) error {
	if f.patience != nil {
		_ = f.conn.SetWriteDeadline(time.Now().Add(f.patience(len(b)))) // an error shows when it is written
	}
	_, err := f.conn.Write(b)
	if err != nil {
		_ = f.conn.Close()
	}
	return err
}

func (f *frameConn) read() (header, []byte, error) { return readFrame(f.in, f.limit) }
