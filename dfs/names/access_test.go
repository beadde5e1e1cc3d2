package names

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestAccess: a job is told before it begins whether its user may read its input and write its output.
func TestAccess(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("bob", "/user/bob/private/f"))
	must(t, r.as("bob", "/user/bob/f"))
	must(t, r.rights("bob", "/user/bob/private", "", "", 0o700))
	must(t, r.rights("bob", "/user/bob/f", "", "", 0o600))
	for _, x := range []struct {
		path, user string
		write      bool
		want       error
	}{
		{"/user/bob/f", "bob", false, nil},
		{"/user/bob/f", "sue", false, nil},
		{"/user/bob/f", "ann", false, wire.Denied},
		{"/user/bob", "ann", false, nil},
		{"/user/bob/private", "ann", false, wire.Denied},
		{"/user/bob/private", "bob", false, nil},
		{"/user/bob/private/f", "ann", false, wire.Denied},
		{"/none", "bob", false, wire.NotFound},
		{"/tmp/out/a/b", "ann", true, nil},
		{"/user/ann/out", "ann", true, nil},
		{"/user/bob/out", "ann", true, wire.Denied},
		{"/user/bob/out", "bob", true, nil},
		{"/user/bob/f", "ann", true, wire.Denied},
		{"/user/bob/f/x", "bob", true, wire.Invalid},
		{"/out", "ann", true, wire.Denied},
		{"/out", "root", true, nil},
		{"/", "ann", true, nil}, // that it is there is said by whoever makes it
		{"out", "root", true, wire.Invalid},
	} {
		if err := r.s.Access(x.path, x.user, x.write); !errors.Is(err, x.want) || (err == nil) != (x.want == nil) {
			t.Errorf("%s, %s, to write %t: %v, want %v", x.path, x.user, x.write, err, x.want)
		}
	}
	for user, want := range map[string]bool{"root": true, "sue": true, "ann": false, "bob": false} {
		if r.s.Superuser(user) != want {
			t.Errorf("%s may do everything: %t", user, !want)
		}
	}
}

// TestWhoHasWhat: what a user, a file and a directory use; who has nothing has no limit either.
func TestWhoHasWhat(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("ann", "/user/ann/d/f"))
	must(t, r.s.SetQuota(wire.QuotaRequest{Of: "cat", Files: 5, Bytes: 6}))
	owners, err := r.s.Owners()
	must(t, err)
	for user, want := range map[string]wire.Usage{
		"ann": {Files: 1, Dirs: 2, Len: 1000, Bytes: 3000, QuotaFiles: -1, QuotaBytes: -1}, "cat": {QuotaFiles: 5, QuotaBytes: 6}, "nobody": {QuotaFiles: -1, QuotaBytes: -1},
	} {
		got, err := r.s.Usage(wire.QuotaRequest{Of: user, User: "root"})
		if err != nil || got != want || owners[user] != want && user != "nobody" {
			t.Errorf("%s: %+v, %+v, %v; want %+v", user, got, owners[user], err, want)
		}
	}
	for path, want := range map[string]wire.Usage{
		"/user/ann/d/f": {Files: 1, Len: 1000, Bytes: 3000, QuotaFiles: -1, QuotaBytes: -1}, "/user": {Files: 1, Dirs: 2, Len: 1000, Bytes: 3000, QuotaFiles: -1, QuotaBytes: -1},
	} {
		if got, err := r.s.Usage(wire.QuotaRequest{Path: path, User: "ann"}); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", path, got, err, want)
		}
	}
}

// TestTrashOfNobody: who has no home has no trash. Old trash is looked for once a minute.
func TestTrashOfNobody(t *testing.T) {
	r := rightsRig(t)
	for _, user := range []string{"", "a/b", ".."} {
		must(t, r.as("root", "/f"))
		if err := r.s.Delete(wire.DeleteRequest{Path: "/f", User: user, Super: true, Trash: true}); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("%q: %v", user, err)
		}
	}
	r.step(2 * time.Minute)
	must(t, r.as("ann", "/user/ann/f"))
	must(t, deeds["discard"](r.s, "ann", "/user/ann/f"))
	r.step(time.Minute) // the next look is a minute away at most
	r.wall = r.wall.Add(25 * time.Hour)
	there := func() bool { return deeds["stat"](r.s, "ann", "/user/ann/.Trash/20231114-2213") == nil }
	begin := r.now
	for there() && r.now < begin+2*time.Minute {
		r.step(500 * time.Millisecond)
	}
	if took := r.now - begin; took > sweepEvery {
		t.Errorf("swept after %v", took)
	}
	must(t, r.as("ann", "/user/ann/f"))
	must(t, deeds["discard"](r.s, "ann", "/user/ann/f"))
	if r.wall = r.wall.Add(25 * time.Hour); r.s.Tick() != nil {
		t.Error("a look failed")
	}
	if list, err := r.s.List(wire.ListRequest{Path: "/user/ann/.Trash"}); err != nil || len(list.Entries) != 1 {
		t.Errorf("looked again at once: %v, %v", list.Entries, err)
	}
}

// TestCopiesThatTakeTooLong: a copy that nobody hears of for a minute is ordered again; one that failed, at once.
func TestCopiesThatTakeTooLong(t *testing.T) {
	r := storeRig(t, "r", "r")
	must(t, r.put(wire.CreateRequest{Path: "/f", Replication: 1}, 1, "n0"))
	r.step(time.Second)
	_, err := r.s.SetReplication(wire.SetReplicationRequest{Path: "/f", Replication: 2})
	must(t, err)
	told := func(req wire.BeatRequest) int {
		must(t, r.s.Tick())
		r.hear("n1", wire.BeatRequest{})
		return len(r.hear("n0", req).Copy)
	}
	if told(wire.BeatRequest{}) != 1 {
		t.Fatal("no copy was ordered")
	}
	begin := r.now
	for r.now < begin+r.cfg.CopyTimeout {
		if r.now += 4 * time.Second; told(wire.BeatRequest{}) != 0 {
			t.Fatalf("ordered again after %v", r.now-begin)
		}
	}
	if r.now++; told(wire.BeatRequest{}) != 1 {
		t.Error("not ordered again after a minute")
	}
	told(wire.BeatRequest{Failed: []wire.DoneWork{{Block: wire.Block{ID: 1, Gen: 1}, Target: "nobody"}}})
	if told(wire.BeatRequest{}) != 0 {
		t.Error("ordered again for the failure of another")
	}
	told(wire.BeatRequest{Failed: []wire.DoneWork{{Block: wire.Block{ID: 1, Gen: 1}, Target: "n1"}}})
	if told(wire.BeatRequest{}) != 1 {
		t.Error("not ordered again after it failed")
	}
}

// TestCopiesKeepToTheirRate: a node is asked to send so many bytes a second, not more, and in the end all.
func TestCopiesKeepToTheirRate(t *testing.T) {
	r := newRig(t)
	r.cfg.CopyBytesPerSecond = 1000
	r.open()
	r.addNode("n0", "r", 1<<39)
	r.addNode("n1", "r", 1<<39)
	must(t, r.put(wire.CreateRequest{Path: "/f", Replication: 1}, 8, "n0"))
	r.step(10 * time.Second)
	r.takeLog()
	_, err := r.s.SetReplication(wire.SetReplicationRequest{Path: "/f", Replication: 2})
	must(t, err)
	copies := 0
	for second := 1; second <= 12; second++ {
		r.step(time.Second)
		copies += strings.Count(r.takeLog(), "copies")
		if copies > second+2 || copies < min(8, second-2) {
			t.Errorf("%d blocks of 1,000 bytes in %d s", copies, second)
		}
	}
	if copies != 8 {
		t.Errorf("%d copies of 8", copies)
	}
}
