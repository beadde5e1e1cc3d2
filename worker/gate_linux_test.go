package worker

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/worker/attempt"
)

// call asks a gate as a program might, with so many files, and returns what comes: text, and whether a file came with it. Without a
// file that an answer can be sent to there is none.
func call(t testing.TB, g *gate, addr string, files ...int) (string, bool) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if files == nil {
		files = []int{pair[1]}
	}
	if err := unix.Sendmsg(int(g.theirs.Fd()), []byte(addr), unix.UnixRights(files...), nil, 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(pair[1])
	defer unix.Close(pair[0])
	text, rights := make([]byte, 1024), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := unix.Recvmsg(pair[0], text, rights, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := attempt.Right(rights[:m])
	if err != nil {
		t.Fatal(err)
	}
	if fd != 0 {
		unix.Close(fd)
	}
	return string(text[:n]), fd != 0
}

// TestGate: a daemon is reached and nobody else; whatever a program sends, the gate stays and answers the next.
func TestGate(t *testing.T) {
	daemon, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	g, err := openGate(func(_ context.Context, addr string) bool { return addr == daemon.Addr().String() })
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for range 100 { // more than it connects at once
		for _, files := range [][]int{{int(null.Fd())}, {int(null.Fd()), int(null.Fd())}} {
			if text, got := call(t, g, daemon.Addr().String(), files...); text != "" || got {
				t.Fatalf("no socket for the answer: %q, %v", text, got)
			}
		}
		if text, got := call(t, g, other.Addr().String()); text == "" || got {
			t.Fatalf("somebody else: %q, %v", text, got)
		}
		if text, got := call(t, g, daemon.Addr().String()); text != attempt.Connected || !got {
			t.Fatalf("a daemon: %q, %v", text, got)
		}
	}
}

// FuzzGate: no address makes the gate connect to anybody but the daemon, or end.
func FuzzGate(f *testing.F) {
	for _, s := range []string{"127.0.0.1:1", "", "\x00", "127.0.0.1:1 ", "[::1]:1", "localhost:http"} {
		f.Add(s)
	}
	daemon, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { daemon.Close() })
	f.Fuzz(func(t *testing.T, addr string) {
		if len(addr) > 100_000 {
			return // the kernel refuses it
		}
		g, err := openGate(func(_ context.Context, addr string) bool { return addr == daemon.Addr().String() })
		if err != nil {
			t.Fatal(err)
		}
		defer g.close()
		if text, got := call(t, g, addr); got || text == "" {
			t.Fatalf("%q: %q, %v", addr, text, got)
		}
		if _, got := call(t, g, daemon.Addr().String()); !got {
			t.Fatal("it is gone")
		}
	})
}

// TestAnswersOfGates: a program hears why it gets no connection: from nobody else's address, and from a daemon that is gone. What it gets leads where it
// asked to, and a gate that was closed ends.
func TestAnswersOfGates(t *testing.T) {
	daemon, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := daemon.Addr().String()
	g, err := openGate(func(_ context.Context, to string) bool { return to == addr })
	if err != nil {
		t.Fatal(err)
	}
	if text, got := call(t, g, "10.9.8.7:65000"); got || text != `"10.9.8.7:65000" is no daemon of this cluster: programs reach those only (--task-network)` {
		t.Errorf("a stranger: %q, %v", text, got)
	}
	if text, got := call(t, g, addr); !got || text != attempt.Connected {
		t.Errorf("the daemon: %q, %v", text, got)
	}
	c, err := daemon.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) { // what was passed on is closed everywhere
		t.Errorf("%d, %v", n, err)
	}
	if err := errors.Join(c.Close(), daemon.Close()); err != nil {
		t.Error(err)
	}
	if text, got := call(t, g, addr); got || !strings.Contains(text, "refused") {
		t.Errorf("a daemon that is gone: %q, %v", text, got)
	}
	g.close()
	var none *gate
	none.close()
	if err := unix.Sendmsg(int(g.theirs.Fd()), []byte(addr), nil, nil, 0); err == nil {
		t.Error("a gate that was closed takes a call")
	}
}
