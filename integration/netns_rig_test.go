package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
)

// A lan is a cluster of real processes, each in a network namespace of its own, on a switch that is one too. The
// test stands on the switch's other side, and is never cut off.
type lan struct {
	*processes
	base string // of all names
	sw   string // the switch's namespace
}

var lans atomic.Int32

// startLAN starts a master and workers w1, w2 … with a cluster key, and waits for all.
func startLAN(t *testing.T, workers int, masterFlags ...string) *lan {
	t.Helper()
	require.Tool(t, "go")
	require.Netns(t)
	text := secure.Generate()
	k, err := secure.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p := &processes{
		t: t, dir: t.TempDir(), run: map[string]*exec.Cmd{}, within: map[string]string{}, ips: map[string]string{}, key: k, flags: []string{"--reserve", "0"},
	}
	l := &lan{processes: p, base: fmt.Sprintf("mr%d%c", os.Getpid(), 'a'+lans.Add(1)-1)}
	p.keyFile = filepath.Join(p.dir, "cluster.key")
	writeFile(t, p.keyFile, []byte(text))
	l.sw = l.base + "sw"
	t.Cleanup(l.remove)
	l.plug()
	t.Cleanup(func() { l.heal(); p.stop() })
	p.addr = net.JoinHostPort(l.ips["master"], "7070")
	p.rules = append([]string{"--gossip", net.JoinHostPort(l.ips["master"], "7071")}, masterFlags...)
	p.startMaster()
	for i := range workers {
		name := fmt.Sprint("w", i+1)
		l.addPort(name, i+2)
		p.startWorker(name, fmt.Sprint("r", i%2+1))
	}
	p.cl = p.client("ann", time.Minute)
	p.wait("all workers are up", func() bool {
		mode, err := p.cl.DFS().SafeMode(t.Context(), "")
		stores, err2 := p.cl.DFS().Nodes(t.Context())
		return err == nil && err2 == nil && !mode.On && len(stores) == workers && len(l.in("up")) == workers
	})
	return l
}

// ip runs the tool of that name.
func (l *lan) ip(args ...string) {
	l.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// plug makes the switch, with the master and the test at it. The addresses are those set aside for testing
// networks (RFC 2544).
func (l *lan) plug() {
	l.t.Helper()
	l.ip("netns", "add", l.sw)
	l.ip("-n", l.sw, "link", "add", "br0", "type", "bridge", "forward_delay", "0")
	l.ip("-n", l.sw, "link", "set", "br0", "up")
	l.ip("link", "add", l.base+"t", "type", "veth", "peer", "name", "test", "netns", l.sw)
	l.ip("addr", "add", l.address(254)+"/24", "dev", l.base+"t")
	l.ip("link", "set", l.base+"t", "up")
	l.ip("-n", l.sw, "link", "set", "test", "master", "br0", "up")
	l.addPort("master", 1)
}

func (l *lan) address(n int) string {
	return fmt.Sprintf("198.%d.%d.%d", 18+os.Getpid()/256%2, (os.Getpid()+int(l.base[len(l.base)-1]))%256, n)
}

// addPort makes a namespace and puts it on the switch.
func (l *lan) addPort(name string, n int) {
	l.t.Helper()
	ns := l.base + name
	l.within[name], l.ips[name] = ns, l.address(n)
	l.ip("netns", "add", ns)
	l.ip("-n", ns, "link", "set", "lo", "up")
	l.ip("-n", ns, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns", l.sw)
	l.ip("-n", ns, "addr", "add", l.ips[name]+"/24", "dev", "eth0")
	l.ip("-n", ns, "link", "set", "eth0", "up")
	l.ip("-n", l.sw, "link", "set", "dev", name, "master", "br0", "up")
}

// remove takes the namespaces away; what is plugged into them goes with them.
func (l *lan) remove() {
	for _, ns := range l.within {
		_ = exec.Command("ip", "netns", "del", ns).Run() // or it was never made
	}
	_ = exec.Command("ip", "netns", "del", l.sw).Run()
	_ = exec.Command("ip", "link", "del", l.base+"t").Run()
}

// cut pulls plugs: who is behind them is alone.
func (l *lan) cut(names ...string) {
	l.t.Helper()
	for _, n := range names {
		l.ip("-n", l.sw, "link", "set", "dev", n, "down")
	}
}

// drop puts rules into the switch: each says what not to pass on, in the words of nft.
func (l *lan) drop(rules ...string) {
	l.t.Helper()
	text := "table bridge cut {\n chain forward {\n type filter hook forward priority 0;\n" + strings.Join(rules, " drop\n") + " drop\n }\n}\n"
	cmd := exec.Command("ip", "netns", "exec", l.sw, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.t.Fatalf("nft: %v: %s", err, out)
	}
}

// heal undoes cuts and drops.
func (l *lan) heal() {
	for name := range l.within {
		_ = exec.Command("ip", "-n", l.sw, "link", "set", "dev", name, "up").Run()
	}
	_ = exec.Command("ip", "netns", "exec", l.sw, "nft", "delete", "table", "bridge", "cut").Run() // or there is none
}

// in lists the workers in a state, as the master sees them. Who has not spoken lately is not up.
func (l *lan) in(state string) (out []string) {
	list, err := l.cl.Nodes(l.t.Context())
	if err != nil {
		return nil
	}
	for _, n := range list {
		if n.State == state && (state != "up" || n.Silent < 2000) {
			out = append(out, string(n.Node))
		}
	}
	return out
}

// slowWords counts words with tasks that take their time, so that faults find them at work.
func (l *lan) slowWords(out string) wire.JobID {
	l.t.Helper()
	words := []string{
		"streaming", "--mapper", "sleep 0.4; cut -d' ' -f1", "--reducer", "sleep 3; uniq -c",
		"--input", "dfs:/in", "--output", "dfs:" + out, "--split-bytes", "65536", "--reducers", "3",
	}
	stages, err := jobs.Parse(words[0], words[1:])
	if err != nil {
		l.t.Fatal(err)
	}
	id, err := l.cl.Submit(l.t.Context(), wire.JobSpec{
		Name: "slow", Stages: len(stages), Output: stages[0].Output, Program: wire.Program{Builtin: words[0], Args: words[1:]},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return id
}
