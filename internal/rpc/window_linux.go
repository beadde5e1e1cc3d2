package rpc

import (
	"net"
	"syscall"
)

// bulkWindow is how much may be on its way to a reader of bulk data who is busy with what came before.
const bulkWindow = 2 << 20

// widen gives a connection room for that at once. The system makes room by itself, but in proportion to the time of a round
// trip: on a short way that is less than the reader takes at once, and both sides wait for each other. A buffer that is
// set by its size would never grow any more, and may only be small; asking to be woken late, and taking that back, has neither flaw.
func widen(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return // it is closed; whoever uses it will see
	}
	_ = raw.Control(func(fd uintptr) { // as above
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bulkWindow) // slower without
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, 1)          // never fails
	})
}
