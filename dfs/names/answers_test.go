package names

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/dfs/token"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestAnswersOfChanges: who changes a file or directory is answered what it is then, or why not.
func TestAnswersOfChanges(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("ann", "/user/ann/f"))
	for _, x := range []struct {
		path   string
		change func(user string) (wire.FileInfo, error)
	}{
		{"/user/ann/d", func(u string) (wire.FileInfo, error) {
			return r.s.Mkdir(wire.MkdirRequest{Path: "/user/ann/d", User: u})
		}},
		{"/user/ann/d", func(u string) (wire.FileInfo, error) {
			return r.s.SetRights(wire.SetRightsRequest{Path: "/user/ann/d", User: u, Group: "pals", Mode: 0o750})
		}},
		{"/user/ann/f", func(u string) (wire.FileInfo, error) {
			return r.s.SetReplication(wire.SetReplicationRequest{Path: "/user/ann/f", User: u, Replication: 2})
		}},
	} {
		if _, err := x.change("cat"); wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("%s: cat changes it: %v", x.path, err)
		}
		got, err := x.change("ann")
		must(t, err)
		want, err := r.s.Stat(wire.PathRequest{Path: x.path, User: "ann"})
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", x.path, d)
		}
	}
}

// TestTokensInAnswers: whoever is told of blocks can do with them what the answer is for, and nothing else; what failed gives leave for nothing.
func TestTokensInAnswers(t *testing.T) {
	r := newRig(t)
	m := newMint(&r.cfg, 3)
	m.turn(0)
	var ring token.Ring
	ring.Add(m.tell(0), 0)
	ann, n1 := rpc.Caller{User: "ann"}, rpc.Caller{Node: "n1", User: "n1"}
	leave := func(what, text string, b wire.Block, op token.Op, c, stranger rpc.Caller) {
		t.Helper()
		must(t, ring.Check(text, b, op, c, 0))
		if op == token.Read && ring.Check(text, b, token.Write, c, 0) == nil || ring.Check(text, b, op, stranger, 0) == nil || ring.Check(text, wire.Block{ID: 99, Gen: b.Gen}, op, c, 0) == nil {
			t.Errorf("%s: the token is good for more", what)
		}
	}
	blocks := []wire.LocatedBlock{{Block: wire.Block{ID: 1, Gen: 2}}, {Block: wire.Block{ID: 3, Gen: 4}}}
	m.readable(ann, blocks)
	for i := range blocks {
		leave("read", blocks[i].Token, blocks[i].Block, token.Read, ann, rpc.Caller{User: "bob"})
	}
	p, err := m.writable(ann, wire.Pipeline{Block: wire.Block{ID: 5, Gen: 6}}, nil)
	must(t, err)
	leave("write", p.Token, p.Block, token.Write, ann, rpc.Caller{User: "bob"})
	full := errors.New("full")
	if p, err := m.writable(ann, wire.Pipeline{}, full); !errors.Is(err, full) || p.Token != "" {
		t.Errorf("a pipeline that is none has the token %q, %v", p.Token, err)
	}
	out := m.orders(n1, wire.BeatRequest{}, wire.BeatResponse{
		Copy:    []wire.CopyWork{{Block: wire.Block{ID: 7, Gen: 8}}, {Block: wire.Block{ID: 9, Gen: 8}}},
		Recover: []wire.RecoverWork{{Block: wire.Block{ID: 10, Gen: 3}, NewGen: 4, Before: []wire.LocatedBlock{{Block: wire.Block{ID: 11, Gen: 1}}}}},
	})
	for _, c := range out.Copy {
		leave("copy", c.Token, c.Block, token.Write, n1, ann)
	}
	w := out.Recover[0]
	leave("recover", w.Token, wire.Block{ID: 10, Gen: 4}, token.Write, n1, ann)
	leave("what is before it", w.Before[0].Token, w.Before[0].Block, token.Read, n1, ann)
	if len(out.Keys) == 0 || len(m.orders(n1, wire.BeatRequest{Key: ring.Newest()}, wire.BeatResponse{}).Keys) != 0 {
		t.Errorf("a node that has no key is told %d", len(out.Keys))
	}
}

// TestWhoIsWho: a node speaks as itself only, and writes open files of all; users write their own.
func TestWhoIsWho(t *testing.T) {
	n1 := rpc.Caller{Node: "n1", User: "n1"}
	if err := itself(n1, "n1"); err != nil {
		t.Error(err)
	}
	for _, c := range []rpc.Caller{n1, {User: "n2"}} {
		if err := itself(c, "n2"); wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("%+v speaks as n2: %v", c, err)
		}
	}
	if by(n1) != "" || by(rpc.Caller{User: "ann"}) != "ann" {
		t.Errorf("a node writes files of %q, ann of %q", by(n1), by(rpc.Caller{User: "ann"}))
	}
}

// TestWhyNoNodeTakesABlock: a full store, one whose nodes are away, and one that cannot use its room are told apart.
func TestWhyNoNodeTakesABlock(t *testing.T) {
	for _, x := range []struct {
		free int64
		now  time.Duration
		kind wire.Kind
		want string
	}{
		{1000, time.Hour, wire.Unavailable, "1 of 1 are live, 1 with room"},
		{999, time.Hour, wire.NoSpace, "none of 1 live nodes has 1000 bytes free"},
		{999, 0, wire.Unavailable, "others may follow"},
	} {
		r := newRig(t)
		r.open()
		r.addNode("n0", "r", x.free)
		r.s.nodes[0].last = x.now
		err := r.s.noNode(&inode{file: &content{blockSize: 1000}}, 0, x.now)
		if wire.KindOf(err) != x.kind || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%d bytes are free after %v: %v, want %q", x.free, x.now, err, x.want)
		}
	}
}

// TestSafeModeLastsWhileItWavers: safe mode ends when its condition has held for the whole extension without a break.
func TestSafeModeLastsWhileItWavers(t *testing.T) {
	s := newService(DefaultConfig())
	s.cfg.SafeExtension = 10 * time.Second
	s.safe.on = true
	for _, x := range []struct {
		at time.Duration
		ok bool
		on bool
	}{{0, true, true}, {9, true, true}, {10, false, true}, {11, true, true}, {20, true, true}, {21, true, false}} {
		if s.leaveWhen(x.ok, x.at*time.Second); s.safe.on != x.on {
			t.Fatalf("after %d s safe mode is on: %v, want %v", x.at, s.safe.on, x.on)
		}
	}
}

// TestNodesAreGivenTheirTime: a node is silent, and late, when its time is over, not when it is just up; most are silent when more than
// the share are, not when just so many are.
func TestNodesAreGivenTheirTime(t *testing.T) {
	s := newService(DefaultConfig())
	s.cfg.DeadAfter, s.cfg.VanishShare = 10*time.Second, 0.5
	s.nodes = []*node{{}, {last: 6 * time.Second}, {dead: true}}
	for at, want := range map[time.Duration]struct{ most, late bool }{
		5 * time.Second: {false, false}, 10 * time.Second: {false, false}, 10*time.Second + 1: {false, true},
		11 * time.Second: {false, true}, 11*time.Second + 1: {true, true},
	} {
		if most, late := s.mostSilent(at), s.anyLate(at); most != want.most || late != want.late {
			t.Errorf("after %v most are silent: %v, one is late: %v, want %v", at, most, late, want)
		}
	}
}
