package rpc

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// A Caller is the peer that makes a call.
type Caller struct {
	User string // the person, or the owner of the job, on whose behalf it calls
	Node string // name of the peer if it is a node of the cluster
	Job  string // the only job this caller may speak for, if it is a task
	Addr string // where it calls from
	// Issued is when the caller's certificate was made, in seconds since 1970.
	Issued int64 `json:"-"`
	// Admin is set for those who may change the cluster.
	Admin bool
}

// A Rule says who may call a method. Every route has one.
type Rule uint8

// The rules.
const (
	noRule Rule = iota
	Anyone      // health checks; reveals nothing worth hiding
	Users       // any caller whose identity is known
	Nodes       // masters and workers only
	Admins      // those who may change the cluster
	Tasks       // nodes, and tasks for their own job: the handler checks which
	Files       // users, nodes, and tasks on behalf of their user: what the block store serves
)

// Check returns nil if c may use a route with this rule.
func (r Rule) Check(c Caller) error {
	switch r {
	case Anyone:
		return nil
	case Users:
		if (c.User != "" || c.Node != "") && c.Job == "" {
			return nil
		}
	case Nodes:
		if c.Node != "" {
			return nil
		}
	case Admins:
		if c.Admin || c.Node != "" {
			return nil
		}
	case Files:
		if c.User != "" || c.Node != "" {
			return nil
		}
	case Tasks:
		if c.Node != "" || c.Job != "" {
			return nil
		}
	}
	return wire.Errorf(wire.Denied, "%s may not do this: it is for %s", c.name(), r)
}

func (c Caller) name() string {
	switch {
	case c.Node != "":
		return "node " + c.Node
	case c.Job != "":
		return "a task of job " + c.Job
	case c.User != "":
		return "user " + c.User
	}
	return "an unknown caller"
}

func (r Rule) String() string {
	return [...]string{"nobody", "anyone", "known users", "nodes", "administrators", "nodes and tasks", "known users and their tasks"}[min(r, Files)]
}

// An Authenticator finds out who sent a request: by the certificate, the token, or, on an open cluster of one
// machine, by what the request says.
type Authenticator func(r *http.Request) (Caller, error)

// The headers by which callers identify themselves.
const (
	userHeader  = "Millrace-User"
	nodeHeader  = "Millrace-Node"
	atHeader    = "Millrace-At"
	tokenHeader = "Millrace-Token"
)

// Trusting believes what callers say about themselves. It is for clusters that listen only on the loopback
// interface, where anyone who can connect could also read the files.
func Trusting(r *http.Request) (Caller, error) {
	c := Caller{User: r.Header.Get(userHeader), Node: r.Header.Get(nodeHeader), Addr: r.RemoteAddr}
	c.Admin = c.User != ""
	return c, nil
}

// ThisMachine is Trusting for servers that listen only on the loopback interface. It refuses requests that were sent
// to another name: a web page can make its own name resolve to this machine and would then be believed.
func ThisMachine(r *http.Request) (Caller, error) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); ip == nil && host != "localhost" {
		return Caller{}, wire.Errorf(wire.Denied, "a request for %q: without a key this cluster is called by its address, as 127.0.0.1, or localhost", host)
	}
	return Trusting(r)
}

// SameSecret compares two secrets in constant time.
func SameSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
