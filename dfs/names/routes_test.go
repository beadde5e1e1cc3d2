package names

import (
	"testing"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestWhoSpeaks: a user, and a task of a user's job, speak for nobody else; a node speaks for whom it names. Only an
// administrator who is no node is the superuser, where that is allowed.
func TestWhoSpeaks(t *testing.T) {
	for _, x := range []struct {
		what   string
		caller rpc.Caller
		says   string
		admins bool
		user   string
		super  bool
	}{
		{"a user who names another", rpc.Caller{User: "ann"}, "bob", true, "ann", false},
		{"a user who names nobody", rpc.Caller{User: "ann"}, "", true, "ann", false},
		{"a task that names another", rpc.Caller{User: "ann", Job: "job-1"}, "bob", true, "ann", false},
		{"a node for a user", rpc.Caller{Node: "n1", User: "n1"}, "bob", true, "bob", false},
		{"a node for itself", rpc.Caller{Node: "n1", User: "n1"}, "", true, "n1", false},
		{"an administrator", rpc.Caller{User: "root", Admin: true}, "bob", true, "root", true},
		{"an administrator who did not opt in", rpc.Caller{User: "root", Admin: true}, "", false, "root", false},
		{"a node with the rights of one", rpc.Caller{Node: "n1", Admin: true}, "bob", true, "bob", false},
	} {
		s := &Service{cfg: Config{Admins: x.admins}}
		user, super := x.says, true
		s.speak(x.caller, &user, &super)
		if user != x.user || super != x.super {
			t.Errorf("%s: %q, superuser %v; want %q, %v", x.what, user, super, x.user, x.super)
		}
	}
}

// TestRequestsOfOpenFilesOnly: a request is remembered while its file is open, so that it can be repeated, and no longer.
func TestRequestsOfOpenFilesOnly(t *testing.T) {
	r := newRig(t)
	r.open()
	for _, n := range []wire.NodeName{"n0", "n1", "n2"} {
		r.addNode(n, "r", 1<<40)
	}
	one := wire.CreateRequest{Path: "/f", Holder: "h", Request: "1", BlockSize: 1000}
	first, err := r.s.Create(one)
	must(t, err)
	again, err := r.s.Create(one)
	if err != nil || again.File.ID != first.File.ID {
		t.Fatalf("the same request made %v, then %v, %v", first.File.ID, again.File.ID, err)
	}
	_, err = r.s.Complete(wire.CompleteRequest{File: first.File.ID, Holder: "h", CRC: 7})
	must(t, err)
	if len(r.s.requests) != 0 {
		t.Errorf("requests of closed files are kept: %v", r.s.requests)
	}
	if _, err := r.s.Create(one); wire.KindOf(err) != wire.Exists {
		t.Errorf("the same request after the file was closed: %v", err)
	}
}
