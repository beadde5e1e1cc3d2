package attempt

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// files opens some files, as descriptors that the test closes if they are still open.
func files(t *testing.T, n int) (fds []int) {
	t.Helper()
	for range n {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	return fds
}

// TestRight: with a message comes one file, which a program that is started does not get, or none; more are closed, and refused.
func TestRight(t *testing.T) {
	if fd, err := Right(nil); fd != 0 || err != nil {
		t.Error(fd, err)
	}
	one := files(t, 1)
	fd, err := Right(unix.UnixRights(one...))
	if flags, err2 := unix.FcntlInt(uintptr(one[0]), unix.F_GETFD, 0); fd != one[0] || errors.Join(err, err2) != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Error(fd, err, err2, flags)
	}
	two := files(t, 2)
	if _, err := Right(unix.UnixRights(two...)); err == nil || !strings.Contains(err.Error(), "2 files came with the message") {
		t.Error(err)
	}
	for _, fd := range two {
		if err := unix.Close(fd); err != unix.EBADF {
			t.Errorf("a file that nobody wants is open: %v", err)
		}
	}
	if _, err := Right(append(unix.UnixRights(one...), unix.UnixRights(one...)...)); err == nil || !strings.Contains(err.Error(), "not understood") {
		t.Error(err)
	}
	if _, err := Right([]byte{1, 2, 3}); err == nil {
		t.Error("three bytes are understood")
	}
	if err := unix.Close(one[0]); err != nil {
		t.Error(err)
	}
}

// TestGateOfAProgram: a program without a network asks at its gate, and gets a connection, or why not.
func TestGateOfAProgram(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	dial, err := gate(pair[0])
	if err != nil {
		t.Fatal(err)
	}
	worker, err := UnixConn(pair[1])
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	answers := make(chan error, 1)
	answer := func() { answers <- answerOne(worker, l.Addr().String()) }

	go answer()
	conn, err := dial(t.Context(), l.Addr().String())
	if err := errors.Join(err, <-answers); err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	_, err = io.WriteString(conn, "hello")
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(there); string(b) != "hello" || err != nil {
		t.Errorf("%q, %v", b, err)
	}

	go answer()
	if _, err := dial(t.Context(), "elsewhere:1"); err == nil || !strings.Contains(err.Error(), "elsewhere:1 is not of the cluster") {
		t.Error(err)
	}
	if err := <-answers; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dial(ctx, l.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("of a program that has given up: %v", err)
	}
	if _, err := UnixConn(files(t, 1)[0]); err == nil {
		t.Error("a file is taken for a socket")
	}
}

// answerOne answers one call at a gate as a worker does: it connects to one address and to no other.
func answerOne(calls *net.UnixConn, known string) error {
	text, rights := make([]byte, MaxAddress), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := calls.ReadMsgUnix(text, rights)
	if err != nil {
		return err
	}
	fd, err := Right(rights[:m])
	if err != nil {
		return err
	}
	back, err := UnixConn(fd)
	if err != nil {
		return err
	}
	defer back.Close()
	if addr := string(text[:n]); addr != known {
		_, err := back.Write([]byte(addr + " is not of the cluster"))
		return err
	}
	conn, err := net.Dial("tcp", known)
	if err != nil {
		return err
	}
	f, err := conn.(*net.TCPConn).File()
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	_, _, err = back.WriteMsgUnix([]byte(Connected), unix.UnixRights(int(f.Fd())), nil)
	return errors.Join(err, f.Close())
}
