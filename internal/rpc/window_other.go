//go:build !linux

package rpc

import "net"

func widen(net.Conn) {}
