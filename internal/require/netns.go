package require

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Netns requires network namespaces with bridges, and nft in them: root, iproute2, nftables, and a kernel that
// allows it.
func Netns(t testing.TB) {
	t.Helper()
	Root(t)
	Tool(t, "ip")
	Tool(t, "nft")
	if err := tryNetns(); err != nil {
		missing(t, "netns", err.Error())
	}
}

// tryNetns makes a namespace and the rest, once for all tests of this process, and removes it.
var tryNetns = sync.OnceValue(func() error {
	name := fmt.Sprintf("probe%d", os.Getpid())
	defer exec.Command("ip", "netns", "del", name).Run()
	for _, line := range []string{
		"netns add " + name,
		"-n " + name + " link add br0 type bridge",
		"-n " + name + " link add v1 type veth peer name v2",
		"netns exec " + name + " nft add table bridge t",
		"netns exec " + name + " nft add chain bridge t c { type filter hook forward priority 0; }",
		"netns exec " + name + " nft add rule bridge t c numgen random mod 100 < 5 drop",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("network namespaces do not work here: ip %s: %w: %s", line, err, out)
		}
	}
	return nil
})
