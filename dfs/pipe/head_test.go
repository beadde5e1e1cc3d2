package pipe

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A memReplica keeps what it is given. hold, if not nil, is asked before each chunk, and finish before the end.
type memReplica struct {
	mu       sync.Mutex
	got      []byte
	finished bool
	hold     func(n int) error
	finish   func() error
}

func (m *memReplica) Append(chunk []byte, crc uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold != nil {
		if err := m.hold(len(m.got)); err != nil {
			return err
		}
	}
	if Checksum(chunk) != crc {
		return errors.New("another checksum")
	}
	m.got = append(m.got, chunk...)
	return nil
}

func (m *memReplica) Finish() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finish != nil {
		if err := m.finish(); err != nil {
			return err
		}
	}
	m.finished = true
	return nil
}

func newTestHead(t *testing.T, m *memReplica) *Head {
	t.Helper()
	h, err := NewHead(0, m, Timing{}, func(func()) (*Sender, error) { return nil, nil }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// sendAll sends data in packets, the last of which says so.
func sendAll(h interface{ Send(p *Packet) error }, data []byte) error {
	for off := 0; ; off += ChunkSize {
		b := new(Buffer)
		n := copy(b.Room(), data[off:])
		p := b.Seal(n, int64(off), off+n == len(data))
		if err := h.Send(&p); err != nil || p.Last {
			return err
		}
	}
}

func TestHeadWritesInOrder(t *testing.T) {
	m := &memReplica{}
	h := newTestHead(t, m)
	data := bytes.Repeat([]byte("millrace"), 20*ChunkSize/8+100)
	if err := sendAll(h, data); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(0, true); err != nil {
		t.Fatal(err)
	}
	if acked, done, err := h.State(); acked != int64(len(data)) || !done || err != nil {
		t.Errorf("%d acknowledged of %d, done %t, %v", acked, len(data), done, err)
	}
	if !h.Close() || !bytes.Equal(m.got, data) || !m.finished {
		t.Errorf("%d bytes of %d, finished %t", len(m.got), len(data), m.finished)
	}
}

func TestHeadOfAFailingDisk(t *testing.T) {
	bad := errors.New("input/output error")
	m := &memReplica{hold: func(n int) error {
		if n >= 3*ChunkSize {
			return bad
		}
		return nil
	}}
	h := newTestHead(t, m)
	err := sendAll(h, make([]byte, 40*ChunkSize))
	if br, ok := errors.AsType[*Broken](err); !ok || br.At != 0 || br.Text != bad.Error() {
		t.Fatalf("sending said %v", err)
	}
	if err := h.Wait(40*ChunkSize, false); err == nil {
		t.Error("waiting said nothing")
	}
	if acked, done, _ := h.State(); acked != 3*ChunkSize || done || !h.Close() || m.finished {
		t.Errorf("%d bytes acknowledged, done %t", acked, done)
	}
}

// A disk that does not answer is given up after a minute, and what it has hold of is not used again.
func TestHeadOfASilentDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		m := &memReplica{hold: func(int) error { <-free; return nil }}
		h := newTestHead(t, m)
		begin := time.Now()
		err := sendAll(h, make([]byte, 40*ChunkSize))
		if err == nil {
			err = h.Wait(1, false)
		}
		if br, ok := errors.AsType[*Broken](err); !ok || br.At != 0 || time.Since(begin) < time.Minute || time.Since(begin) > 2*time.Minute {
			t.Fatalf("after %s: %v", time.Since(begin), err)
		}
		if h.Close() {
			t.Error("a packet is written and was called released")
		}
		close(free)
		synctest.Wait()
	})
}

func TestHeadGivenUp(t *testing.T) {
	m := &memReplica{}
	h := newTestHead(t, m)
	p := new(Buffer).Seal(10, 0, false)
	if err := h.Send(&p); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(10, false); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second has nothing to do
		if !h.Close() || m.finished || len(m.got) != 10 {
			t.Errorf("%d bytes, finished %t", len(m.got), m.finished)
		}
	}
}

// TestHeadFailsWhoWaits: whoever waits to hand a packet over while the disk fails hears why.
func TestHeadFailsWhoWaits(t *testing.T) {
	full := make(chan struct{})
	h := newTestHead(t, &memReplica{hold: func(int) error { <-full; return syscall.ENOSPC }})
	defer h.Close()
	time.AfterFunc(20*time.Millisecond, func() { close(full) })
	if err := sendAll(h, make([]byte, 12*ChunkSize)); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("the writer hears %v", err)
	}
}
