package integration

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// passerBy is somebody on this machine who is no daemon, and counts who calls.
func passerBy(t *testing.T) (addr string, calls *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	calls = new(atomic.Int32)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			_ = c.Close() // nobody has anything to say
		}
	}()
	return l.Addr().String(), calls
}

// knocks is a command that tries to reach addresses, and to find a process of its own user that has a socket: the one that has started it.
func knocks(addrs ...string) string {
	var b strings.Builder
	b.WriteString("cat >/dev/null;")
	for _, a := range addrs {
		host, port, _ := strings.Cut(a, ":")
		fmt.Fprintf(&b, " if (exec 9<>/dev/tcp/%s/%s) 2>/dev/null; then echo got; else echo denied; fi;", host, port)
	}
	b.WriteString(" if ls -l /proc/[0-9]*/fd 2>/dev/null | grep -q socket:; then echo got; else echo denied; fi")
	return "bash -c '" + b.String() + "'"
}

// command runs a streaming job of one map, and returns what it writes.
func (p *processes) command(mapper, out string) string {
	p.t.Helper()
	cmd := exec.Command(millrace, "run", "streaming", "--master", p.addr, "--mapper", mapper, "--reducer", "sort", "--reducers", "2",
		"--input", "dfs:/in", "--output", "dfs:"+out)
	if b, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, b)
	}
	return strings.Join(strings.Fields(string(p.output(out))), " ")
}

// TestTaskNetwork: with --task-network cluster, which is the default where there is a key, a program reaches the cluster, and so does its work, and nobody else; a command reaches
// nobody, its master neither. With none, programs are refused. With all they reach everybody: this proves that the rest bites.
func TestTaskNetwork(t *testing.T) {
	require.Faults(t)
	require.Tool(t, "bash")
	exe := buildHostile(t)
	for _, tt := range []struct{ network, program, command, failure string }{
		{"auto", "denied:network 1", "denied denied denied", ""}, // on a cluster with a key, by a worker that can
		{"cluster", "denied:network 1", "denied denied denied", ""},
		{"none", "", "denied denied denied", "--task-network none"},
		{"all", "got:network 1", "got got got", ""},
	} {
		t.Run(tt.network, func(t *testing.T) {
			p, _ := startKeyed(t, "--task-network", tt.network, "--gossip", "")
			p.put("/in", []byte("a b\nPOISON\n"))
			addr, calls := passerBy(t)
			if got := p.command(knocks(addr, p.addr), "/command"); got != tt.command {
				t.Errorf("a command: %s", got)
			}
			r := p.program(exe, "-attack", "network", "-target", addr, "-input", "dfs:/in", "-output", "dfs:/program", "-reducers", "2")
			if tt.failure != "" {
				if r.State != "FAILED" || !strings.Contains(r.Error, tt.failure) {
					t.Errorf("a program: %+v", r)
				}
			} else if got := strings.Join(strings.Fields(string(p.output("/program"))), " "); got != tt.program {
				t.Errorf("a program: %s, %+v", got, r)
			}
			if reached := calls.Load() > 0; reached != (tt.network == "all") {
				t.Errorf("%d calls", calls.Load())
			}
		})
	}
}
