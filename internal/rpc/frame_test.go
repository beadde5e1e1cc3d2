package rpc

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

func TestFlippedBitsAreFound(t *testing.T) {
	good := appendFrame(nil, header{id: 7, millis: 9, kind: callFrame}, "name", []byte("payload"))
	h, p, err := readFrame(bytes.NewReader(good), 100)
	if err != nil || h.id != 7 || h.millis != 9 || string(p[:h.nameLen]) != "name" || string(p[h.nameLen:]) != "payload" {
		t.Fatalf("%+v %q %v", h, p, err)
	}
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, _, err := readFrame(bytes.NewReader(bad), 100); err == nil {
				t.Fatalf("bit %d of byte %d flipped, not found", bit, i)
			}
		}
	}
	for n := range good {
		if _, _, err := readFrame(bytes.NewReader(good[:n]), 100); err == nil {
			t.Fatalf("cut at %d, not found", n)
		}
	}
	if _, _, err := readFrame(bytes.NewReader(good), 5); wire.KindOf(err) != wire.TooLarge {
		t.Errorf("past the limit: %v", err)
	}
}

// FuzzFrame: no bytes make the reader panic or allocate more than came.
func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(nil, header{id: 7, kind: callFrame}, "name", []byte("payload")))
	f.Add(appendFrame(nil, header{kind: cancelFrame}, "", nil))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, p, err := readFrame(bytes.NewReader(b), 1<<20)
		if err == nil && !bytes.Equal(appendFrame(nil, h, string(p[:h.nameLen]), p[h.nameLen:])[:4], b[:4]) {
			t.Error("length came back changed")
		}
		if len(p) > len(b) {
			t.Errorf("%d bytes from %d", len(p), len(b))
		}
	})
}

// TestStrangersCostNothing sends what no client of ours would to a live server.
func TestStrangersCostNothing(t *testing.T) {
	addr, c := start(t, ServerConfig{}, echo)
	for _, junk := range []string{
		"\x00\x00\x00", "GET / HTTP/1.1\r\n\r\n", "GET " + framesPath + " HTTP/1.1\r\nHost: x\r\nUpgrade: nonsense\r\n\r\n",
		"GET " + framesPath + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: " + framesProto + "\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00",
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(junk)); err != nil {
			t.Fatal(err)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = bufio.NewReader(conn).ReadString(0) // until the server hangs up
		conn.Close()
	}
	if _, err := Call[ask, told](t.Context(), c, addr, "echo", ask{"still"}); err != nil {
		t.Error(err)
	}
}

func BenchmarkCall(b *testing.B) {
	for _, tt := range []struct {
		name    string
		callers int
	}{{"1", 1}, {"4", 4}, {"16", 16}} {
		b.Run("callersPerCore="+tt.name, func(b *testing.B) {
			addr, c := start(b, ServerConfig{}, echo)
			b.SetParallelism(tt.callers)
			var failed atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := Call[ask, told](context.Background(), c, addr, "echo", ask{"/a/file/name"}); err != nil {
						failed.Add(1)
					}
				}
			})
			if failed.Load() > 0 {
				b.Errorf("%d calls failed", failed.Load())
			}
		})
	}
}
