package rpc

import (
	"net"
	"syscall"
)

// bulkWindow is how many bytes may be in flight to a reader of bulk data that is busy with what came before.
const bulkWindow = 2 << 20

// widen gives a connection that much room at once. The system makes room by itself, but in proportion to the
// round-trip time. On a short path that is less than the reader takes at a time, and both sides wait for each other.
// A buffer with a fixed size would never grow, and may only be small. Asking to be woken late, and undoing that, has
// neither flaw.
func widen(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return // it is closed, as its user will notice
	}
	_ = raw.Control(func(fd uintptr) { // likewise
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bulkWindow) // slower without
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, 1)          // never fails
	})
}
