package worker

import (
	"fmt"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/storage"
)

// TestTrafficIsTold: what attempts in processes of their own send is told twice a second at most, until the master has taken it in, and is not lost when
// they end. What they say is bounded.
func TestTrafficIsTold(t *testing.T) {
	tr := newTraffic(func() (float64, bool) { return 40, true })
	one, two := wire.AttemptID{Job: "job-1", Try: 1}, wire.AttemptID{Job: "job-1", Try: 2}
	sent := func(id wire.AttemptID, peer string, n int64) {
		tr.child(id, []wire.NetBytes{{Peer: wire.NodeName(strings.Repeat("n", wire.MaxName+1)), What: "x", Sent: 1}, {Peer: wire.NodeName(peer), What: "shuffle", Sent: n}})
	}
	now, lit := time.Unix(1, 0), &wire.Circuit{To: "r1"}
	look := func(what string, d time.Duration, want string) *wire.Report {
		t.Helper()
		now = now.Add(d)
		r, got := &wire.Report{Idle: -1}, []string{}
		tr.put(r, now, lit)
		for _, b := range r.Net {
			got = append(got, fmt.Sprintf("%s %s %d", b.Peer, b.What, b.Sent))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		if looked := d >= countEvery; (r.Idle == 40) != looked || (r.Circuit == lit) != looked {
			t.Errorf("%s: idle %g, %v", what, r.Idle, r.Circuit)
		}
		return r
	}
	sent(one, "b", 10)
	sent(two, "a", 5)
	look("two send", time.Hour, "a shuffle 5, b shuffle 10")
	look("too soon", countEvery-1, "")
	now = now.Add(1 - countEvery)
	tr.heard(look("nobody has heard it", countEvery, "a shuffle 5, b shuffle 10"))
	look("it is heard", countEvery, "")
	sent(two, "b", 7)
	look("the second sends to b only", countEvery, "b shuffle 17")
	tr.childEnded(one)
	tr.heard(look("the first has ended", countEvery, "b shuffle 17"))
	tr.childEnded(two)
	look("so has the second", countEvery, "")
	sent(one, "b", -50)
	look("less than nothing", countEvery, "")
	sent(one, "b", 3)
	tr.heard(&wire.Report{Net: []wire.NetBytes{{Peer: "b", What: "shuffle", Sent: 2}}}) // an older report, heard late
	look("again", countEvery, "b shuffle 20")
	var many []wire.NetBytes
	for i := range maxChildPeers + 10 {
		many = append(many, wire.NetBytes{Peer: wire.NodeName(fmt.Sprint("n", i)), What: "x", Sent: 1})
	}
	tr.child(one, many)
	tr.child(two, []wire.NetBytes{{Peer: "b", What: strings.Repeat("w", wire.MaxName+1), Sent: 1}})
	if len(tr.live[one]) != maxChildPeers || len(tr.live[two]) != 0 {
		t.Errorf("of %d peers %d are kept, and %d of a long name", len(many), len(tr.live[one]), len(tr.live[two]))
	}
	if tr.childEnded(one); len(tr.children) != maxChildPeers || tr.children[rpc.Peer{Name: "b", What: "shuffle"}] != 17 {
		t.Errorf("%d peers are kept of those that ended", len(tr.children))
	}
}

// TestLocalRights: a job's tasks open local paths with the worker's rights, with its user's, which a worker of that user or of root has, or not at all.
func TestLocalRights(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	var d localDisks
	for _, x := range []struct {
		spec wire.JobSpec
		ok   bool
	}{
		{wire.JobSpec{Local: wire.LocalWorker, User: "nobody-has-this-name"}, true},
		{wire.JobSpec{Local: wire.LocalUser, User: me.Username}, true},
		{wire.JobSpec{Local: wire.LocalUser, User: me.Username}, true}, // as before
		{wire.JobSpec{Local: wire.LocalUser, User: "nobody-has-this-name"}, false},
		{wire.JobSpec{User: me.Username}, false},
	} {
		fs, err := d.rights(&x.spec)("/etc/hosts")
		if (err == nil) != x.ok || x.ok && fs != storage.FS(storage.Disk{}) {
			t.Errorf("%s of %s: %v, %v", x.spec.Local, x.spec.User, fs, err)
		}
		if !x.ok && x.spec.Local == wire.LocalUser && (wire.KindOf(err) != wire.Denied || !strings.Contains(err.Error(), x.spec.User)) {
			t.Errorf("%s of %s: %v", x.spec.Local, x.spec.User, err)
		}
	}
}
