package secure

import (
	"fmt"
	"net"
)

// CheckOpen refuses to let a daemon without a key listen for other machines, because without a key every caller is
// believed. A daemon without a gossip address does not gossip.
func CheckOpen(listen, gossip string) error {
	if gossip != "" {
		if err := CheckLoopback(gossip); err != nil {
			return err
		}
	}
	return CheckLoopback(listen)
}

// CheckLoopback refuses an address that other machines can reach.
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
