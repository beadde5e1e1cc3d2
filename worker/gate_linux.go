package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/worker/attempt"
)

// gateCalls is how many connections a gate makes at a time. Others wait.
const gateCalls = 32

// A gate connects a program that has no network to the daemons of the cluster, and to nothing else. The program
// sends an address, and the worker connects and passes the connection on. It refuses any address that is not a
// daemon's.
type gate struct {
	calls  *net.UnixConn
	theirs *os.File // the program's end
	reach  func(ctx context.Context, addr string) bool
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// openGate makes a gate to what reach allows. The caller must close it.
func openGate(reach func(ctx context.Context, addr string) bool) (*gate, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("a gate to the cluster: %w", err)
	}
	g := &gate{theirs: os.NewFile(uintptr(pair[1]), "gate"), reach: reach}
	if g.calls, err = attempt.UnixConn(pair[0]); err != nil {
		return nil, errors.Join(err, g.theirs.Close())
	}
	var ctx context.Context
	ctx, g.stop = context.WithCancel(context.Background())
	g.wg.Go(func() { g.serve(ctx) })
	return g, nil
}

// close ends the gate. Connections that it has passed on stay open.
func (g *gate) close() {
	if g == nil {
		return
	}
	g.stop()
	_ = g.calls.Close()  // no data is lost
	_ = g.theirs.Close() // likewise
	g.wg.Wait()
}

// serve answers calls until the gate is closed or nobody has its other end any more.
func (g *gate) serve(ctx context.Context) {
	room := make(chan struct{}, gateCalls)
	addr, rights := make([]byte, attempt.MaxAddress), make([]byte, unix.CmsgSpace(4))
	for {
		n, m, _, _, err := g.calls.ReadMsgUnix(addr, rights)
		if err != nil || n == 0 && m == 0 {
			return
		}
		fd, err := attempt.Right(rights[:m])
		if err != nil || fd == 0 {
			continue // nobody waits for an answer
		}
		answer, err := attempt.UnixConn(fd)
		if err != nil {
			continue // likewise
		}
		to := string(addr[:n])
		room <- struct{}{}
		g.wg.Go(func() {
			defer func() { <-room }()
			defer answer.Close()
			g.answer(ctx, answer, to)
		})
	}
}

// answer connects, or says why not. A program that does not wait for the answer loses it.
func (g *gate) answer(ctx context.Context, answer *net.UnixConn, addr string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_ = answer.SetDeadline(time.Now().Add(5 * time.Second)) // a socket has deadlines
	if !g.reach(ctx, addr) {
		_, _ = fmt.Fprintf(answer, "%.100q is no daemon of this cluster: programs reach those only (--task-network)", addr)
		return
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		_, _ = fmt.Fprint(answer, err)
		return
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_, _, _ = answer.WriteMsgUnix([]byte(attempt.Connected), unix.UnixRights(int(fd)), nil)
	})
}

// noNetwork gives this thread, and what it starts, an empty network of its own.
func noNetwork() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("a network of its own for a program: %w", err)
	}
	return nil
}
