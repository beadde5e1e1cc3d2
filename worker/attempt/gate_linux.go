package attempt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of a gate: the longest address that it accepts, and its answer when it has connected.
const (
	MaxAddress = 256
	Connected  = "+"
)

// gatePatience is how long a gate may take to connect, or to say why not.
const gatePatience = 10 * time.Second

// gate returns a dialer for a program without a network. It asks the worker at the other end of a socket to
// connect, and receives the connection. Commands that the program starts do not inherit the socket.
func gate(fd int) (func(ctx context.Context, addr string) (net.Conn, error), error) {
	unix.CloseOnExec(fd)
	calls, err := UnixConn(fd)
	if err != nil {
		return nil, fmt.Errorf("the worker's gate to the network: %w", err)
	}
	return func(ctx context.Context, addr string) (net.Conn, error) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		_, _, err = calls.WriteMsgUnix([]byte(addr), unix.UnixRights(pair[1]), nil)
		err = errors.Join(err, unix.Close(pair[1]))
		answer, err2 := UnixConn(pair[0])
		if err2 != nil {
			return nil, errors.Join(err, err2)
		}
		defer answer.Close()
		if err != nil {
			return nil, err
		}
		return passed(ctx, answer)
	}, nil
}

// passed receives a connection from an answer.
func passed(ctx context.Context, answer *net.UnixConn) (net.Conn, error) {
	if err := answer.SetDeadline(time.Now().Add(gatePatience)); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = answer.SetDeadline(time.Now()) }) // makes the read fail
	defer stop()
	text, rights := make([]byte, 1024), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := answer.ReadMsgUnix(text, rights)
	if err != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	fd, err := Right(rights[:m])
	if err != nil || string(text[:n]) != Connected {
		return nil, errors.Join(err, errors.New(string(text[:n])))
	}
	f := os.NewFile(uintptr(fd), "connection")
	defer f.Close()
	return net.FileConn(f)
}

// UnixConn turns a unix socket into a connection. It takes over fd.
func UnixConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("it is no socket of unix domain"), c.Close())
	}
	return u, nil
}

// Right returns the one file that came with a message, or 0 if there was none. It is closed on exec.
func Right(control []byte) (int, error) {
	if len(control) == 0 {
		return 0, nil
	}
	list, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(list) != 1 {
		return 0, errors.Join(errors.New("what came with the message is not understood"), err)
	}
	fds, err := unix.ParseUnixRights(&list[0])
	if err != nil {
		return 0, err
	}
	if len(fds) != 1 {
		for _, fd := range fds {
			_ = unix.Close(fd) // nobody needs it
		}
		return 0, fmt.Errorf("%d files came with the message, want one", len(fds))
	}
	unix.CloseOnExec(fds[0])
	return fds[0], nil
}

// closeToOthers keeps other processes of the same user from reading this one's memory and files.
func closeToOthers() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
