package worker

import (
	"net"
	"testing"
)

// TestAdvertised: a worker that listens on all addresses is reached at that from which it reaches the master; others where
// they listen, or as they were told.
func TestAdvertised(t *testing.T) {
	all, one := &net.TCPAddr{IP: net.IPv4zero, Port: 7071}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 7071}
	for _, tt := range []struct {
		told    string
		listens net.Addr
		want    string
	}{{"", all, "127.0.0.1:7071"}, {"", &net.TCPAddr{IP: net.IPv6unspecified, Port: 7071}, "127.0.0.1:7071"}, {"", one, "10.0.0.9:7071"}, {"w1:80", all, "w1:80"}} {
		c := Config{Advertise: tt.told, Master: "127.0.0.1:7070"}
		if got, err := c.advertised(tt.listens); err != nil || got != tt.want {
			t.Errorf("%v: %q, %v; want %q", tt.listens, got, err, tt.want)
		}
	}
	c := Config{Master: "no.such.host.invalid:7070"}
	if got, err := c.advertised(all); err == nil {
		t.Errorf("with a master that nobody finds: %q", got)
	}
}
