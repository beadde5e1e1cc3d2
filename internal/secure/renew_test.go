package secure_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

const days = 24 * time.Hour

// TestRenew: a user's certificate is due at half of its life; the new one is for the same user with the same rights, and good for a
// year. One that has ended, or is revoked, or is a node's or a task's, gets none.
func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * days) // from 2000, where such a test begins, into the life of the authority
		k := key(t)
		begin := time.Now()
		text := must[[]byte](t)(k.PEM(secure.User, "ann", ""))
		if _, half, err := secure.Ends(text, time.Now()); half || err != nil {
			t.Errorf("due at once: %v", err)
		}
		time.Sleep(200 * days)
		if _, half, err := secure.Ends(text, time.Now()); !half || err != nil {
			t.Errorf("not due after 200 days: %v", err)
		}
		r := must[*secure.Renewal](t)(secure.NewRenewal())
		renew := func(c rpc.Caller) error {
			c.Issued = begin.Unix()
			_, err := k.Renew(c, r.Request(), time.Now())
			return err
		}
		got := must[wire.Renewed](t)(k.Renew(rpc.Caller{User: "ann", Issued: begin.Unix()}, r.Request(), time.Now()))
		text = must[[]byte](t)(r.PEM(&got))
		if end, half, err := secure.Ends(text, time.Now()); err != nil || half || end.Sub(time.Now()) != 365*days || secure.UserOf(text) != "ann" {
			t.Errorf("of %q until %s, %v", secure.UserOf(text), end, err)
		}
		for name, c := range map[string]rpc.Caller{"a node": {Node: "w1"}, "a task": {User: "ann", Job: "job-1"}, "nobody": {}} {
			if err := renew(c); wire.KindOf(err) != wire.Denied {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := k.Renew(rpc.Caller{User: "ann", Issued: begin.Unix()}, wire.RenewRequest{Public: []byte("short")}, time.Now()); wire.KindOf(err) != wire.Invalid {
			t.Errorf("a key of five bytes: %v", err)
		}
		time.Sleep(165*days + time.Hour)
		if err := renew(rpc.Caller{User: "ann"}); wire.KindOf(err) != wire.Denied {
			t.Errorf("after its end: %v", err)
		}
	})
}

// TestRenewedRights: what is renewed has the rights of before, no more; after a revocation the old and the renewed one are
// refused, and neither is renewed.
func TestRenewedRights(t *testing.T) {
	key := secure.Generate()
	k := must[*secure.Key](t)(secure.Parse(key))
	addr := serve(t, k)
	for _, role := range []secure.Role{secure.User, secure.Admin} {
		old := must[rpc.Caller](t)(ask(t, addr, must[rpc.ClientConfig](t)(secure.FromPEM(must[[]byte](t)(k.PEM(role, "ann", ""))))))
		old.Issued = time.Now().Unix() // the server does not tell
		r := must[*secure.Renewal](t)(secure.NewRenewal())
		got := must[wire.Renewed](t)(k.Renew(old, r.Request(), time.Now()))
		cfg := must[rpc.ClientConfig](t)(secure.FromPEM(must[[]byte](t)(r.PEM(&got))))
		c := must[rpc.Caller](t)(ask(t, addr, cfg))
		if c.User != "ann" || c.Admin != (role == secure.Admin) || c.Node+c.Job != "" {
			t.Errorf("%s: renewed as %+v", role, c)
		}
		if err := k.Replace(key + "\nrevoked ann " + time.Now().Add(time.Minute).UTC().Format(time.RFC3339) + "\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, addr, cfg); wire.KindOf(err) != wire.Denied {
			t.Errorf("%s: the renewed one after a revocation: %v", role, err)
		}
		if _, err := k.Renew(old, r.Request(), time.Now()); wire.KindOf(err) != wire.Denied {
			t.Errorf("%s: renewed after a revocation: %v", role, err)
		}
		if err := k.Replace(key); err != nil {
			t.Fatal(err)
		}
	}
}
