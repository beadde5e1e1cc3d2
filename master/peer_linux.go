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

// accountOf finds the user id that has a connection from this machine open, by the kernel's list of sockets. Callers without a key say
// who they are; this is what they cannot say.
func accountOf(addr string) (int, error) {
	peer, err := netip.ParseAddrPort(addr)
	if err != nil {
		return 0, err
	}
	for range 10 { // a list that changes while it is read can lack a socket
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

// findSocket reads a list of sockets, a line for each: number, local address, remote address, state, queues, timer, retries, user id.
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

// socketAddr reads an address as the kernel prints it: words of four bytes in the machine's order, which is the little end first wherever
// millrace runs, a colon, and the port.
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
