package master

import (
	"net"
	"net/netip"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// The kernel says whose a connection is, by IPv4 and IPv6, and nothing about one that is not there.
func TestAccountOf(t *testing.T) {
	for _, host := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", host)
		if err != nil {
			t.Logf("%s: %v", host, err)
			continue
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		uid, err := accountOf(c.LocalAddr().String())
		if err != nil || uid != os.Getuid() {
			t.Errorf("%s: user id %d, %v", host, uid, err)
		}
		gone := c.LocalAddr().String()
		c.Close()
		if uid, err := accountOf(gone); err == nil {
			t.Errorf("%s: a closed connection belongs to %d", host, uid)
		}
	}
}

func TestFindSocket(t *testing.T) {
	const list = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1
   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2 1
   2: 0000000000000000FFFF00000100007F:9C41 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 3 1
   3: 0100007F:zzzz broken 01 0 0 0 1002 0
`
	for addr, want := range map[string]int{"127.0.0.1:40000": 1000, "127.0.0.1:40001": 1001, "127.0.0.1:8080": -1, "127.0.0.1:40002": -1} {
		uid, found := findSocket(strings.NewReader(list), netip.MustParseAddrPort(addr))
		if found != (want >= 0) || found && uid != want {
			t.Errorf("%s: %d, %t, want %d", addr, uid, found, want)
		}
	}
}

// dialed is a connection of this process to itself.
func dialed(t *testing.T) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestLocalRightsOfWhoIsHere: a caller on this machine whose connection is the account's own has the rights that the setting gives, and no others.
func TestLocalRightsOfWhoIsHere(t *testing.T) {
	near := rpc.Caller{User: currentUser(), Addr: dialed(t).LocalAddr().String(), Admin: true}
	keyed := &Config{}
	withKey(t)(keyed)
	for _, paths := range []LocalPaths{LocalPathsNone, LocalPathsAuto, LocalPathsOwn, LocalPathsAdmins} {
		for _, x := range []struct{ key, open bool }{{false, false}, {false, true}, {true, false}} {
			m, want := &Master{cfg: Config{LocalPaths: paths, Insecure: x.open}}, wire.LocalNone
			if x.key {
				m.cfg.Key = keyed.Key
			}
			switch {
			case paths == LocalPathsOwn, paths == LocalPathsAuto && !x.key && !x.open:
				want = wire.LocalUser
			case paths == LocalPathsAdmins && x.key:
				want = wire.LocalWorker
			}
			if got := m.localRights(near, near.User); got != want {
				t.Errorf("%s, key %t, insecure %t: %q, want %q", paths, x.key, x.open, got, want)
			}
		}
	}
}

// TestMayActAs: who runs this master and root may act as anybody; any other account only as itself, and a connection that nobody has as nobody.
func TestMayActAs(t *testing.T) {
	c := dialed(t)
	at := c.LocalAddr().String()
	if !mayActAs(at, "ann") || !mayActAs(at, currentUser()) {
		t.Error("who runs the master may not act as others")
	}
	for _, addr := range []string{"", "nobody", "192.0.2.1:5"} {
		if mayActAs(addr, currentUser()) {
			t.Errorf("%q may act as %s", addr, currentUser())
		}
	}
	other, err := user.Lookup("nobody")
	if err != nil || os.Getuid() != 0 {
		return // only root can give a socket to another
	}
	uid, err := strconv.Atoi(other.Uid)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) { err = syscall.Fchown(int(fd), uid, -1) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	for name, may := range map[string]bool{"nobody": true, "root": false, "there is no such account": false} {
		if mayActAs(at, name) != may {
			t.Errorf("nobody acts as %s: %t", name, !may)
		}
	}
}
