package master

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// accountOf returns the user id that owns a connection from this machine, by the kernel's list of sockets. Callers
// without a key say themselves who they are; the kernel's answer is independent of that.
func accountOf(addr string) (int, error) {
	peer, err := netip.ParseAddrPort(addr)
	if err != nil {
		return 0, err
	}
	for range 10 { // a list that changes during the read can lack a socket
		for _, list := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
			f, err := os.Open(list)
			if err != nil {
				continue // a kernel without this protocol
			}
			uid, found := findSocket(f, peer)
			f.Close()
			if found {
				return uid, nil
			}
		}
	}
	return 0, fmt.Errorf("no process of this machine has the connection from %s", addr)
}

// findSocket searches a list of sockets. Each line has: number, local address, remote address, state, queues, timer,
// retries, user id.
func findSocket(list io.Reader, local netip.AddrPort) (uid int, found bool) {
	local = netip.AddrPortFrom(local.Addr().Unmap(), local.Port())
	const established = "01"
	for lines := bufio.NewScanner(list); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 8 || w[3] != established || socketAddr(w[1]) != local {
			continue
		}
		uid, err := strconv.Atoi(w[7])
		return uid, err == nil
	}
	return 0, false
}

// socketAddr parses an address as the kernel prints it: words of four bytes in the machine's order (little-endian
// wherever millrace runs), a colon, and the port.
func socketAddr(text string) netip.AddrPort {
	words, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(words)
	n, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n))
}
