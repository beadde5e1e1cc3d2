package worker

import (
	"fmt"
	"net"
	"strconv"
)

// advertised returns the address at which others reach the worker. If it listens on all its addresses, that is
// the one from which it reaches the master.
func (c *Config) advertised(listens net.Addr) (string, error) {
	if c.Advertise != "" {
		return c.Advertise, nil
	}
	at, ok := listens.(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return listens.String(), nil
	}
	conn, err := net.Dial("udp", c.Master) // sends nothing
	if err != nil {
		return "", fmt.Errorf("the worker listens on %s, and at which address others reach it is not known: give --advertise HOST:PORT: %w", listens, err)
	}
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err := conn.Close(); err != nil {
		return "", err
	}
	return net.JoinHostPort(host, strconv.Itoa(at.Port)), err
}
