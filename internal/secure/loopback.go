package secure

import (
	"fmt"
	"net"
)

// CheckLoopback refuses an address that other machines can reach: without a key whoever calls is
// believed.
func CheckLoopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", listen, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen address %q would let anybody on the network run programs here: use 127.0.0.1, give the cluster a key (millrace cluster keygen, --key), or say --insecure", listen)
}
