package secure_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
)

// A wall is a wall clock that a test sets: so much ahead of today's.
type wall struct{ ahead atomic.Int64 }

func (w *wall) now() time.Time { return time.Now().Round(0).Add(time.Duration(w.ahead.Load())) }

func (w *wall) set(ahead time.Duration) { w.ahead.Store(int64(ahead)) }

const month = 30 * days

// TestClocksAreSet: a node whose clock is a month wrong is refused, or refuses, with the reason; when its clock is set right it is a node of the cluster again with
// the next connection, whoever calls whom, and so is one whose clock jumped and jumped back.
func TestClocksAreSet(t *testing.T) {
	for _, x := range []struct{ server, client time.Duration }{{-month, 0}, {month, 0}, {0, -month}, {0, month}, {month, -month}} {
		t.Run(fmt.Sprintf("server %s, client %s", x.server, x.client), func(t *testing.T) {
			text := secure.Generate()
			var server, client wall
			serverKey, clientKey := must[*secure.Key](t)(secure.ParseAt(text, server.now)), must[*secure.Key](t)(secure.ParseAt(text, client.now))
			addr := serve(t, serverKey)
			cfg := must[rpc.ClientConfig](t)(clientKey.Client(secure.Node, "w1", "")) // made once, as processes do
			reach := func(when string) {
				t.Helper()
				if c, err := ask(t, addr, cfg); err != nil || c.Node != "w1" {
					t.Errorf("%s: %+v, %v", when, c, err)
				}
			}
			reach("at first")
			server.set(x.server)
			client.set(x.client)
			if _, err := ask(t, addr, cfg); err == nil {
				t.Error("clocks a month apart do not matter")
			} else if !strings.Contains(err.Error(), "clock") && !strings.Contains(err.Error(), "bad certificate") {
				t.Errorf("clocks a month apart: %v", err)
			}
			server.set(0)
			client.set(0)
			reach("set right")
		})
	}
}

// TestBothClocksJump: certificates from before a jump of all clocks matter to nobody.
func TestBothClocksJump(t *testing.T) {
	text := secure.Generate()
	var both wall
	serverKey, clientKey := must[*secure.Key](t)(secure.ParseAt(text, both.now)), must[*secure.Key](t)(secure.ParseAt(text, both.now))
	addr := serve(t, serverKey)
	cfg := must[rpc.ClientConfig](t)(clientKey.Client(secure.Task, "job-1", "ann"))
	for _, ahead := range []time.Duration{0, month, -month, 2 * month, 0} {
		both.set(ahead)
		if c, err := ask(t, addr, cfg); err != nil || c.Job != "job-1" {
			t.Errorf("%s ahead: %+v, %v", ahead, c, err)
		}
	}
}

// TestClocksThatDiffer: nodes whose clocks are 23 hours apart reach each other, however long they run.
func TestClocksThatDiffer(t *testing.T) {
	for _, differ := range []time.Duration{23 * time.Hour, -23 * time.Hour} {
		text := secure.Generate()
		var server, client wall
		addr := serve(t, must[*secure.Key](t)(secure.ParseAt(text, server.now)))
		cfg := must[rpc.ClientConfig](t)(must[*secure.Key](t)(secure.ParseAt(text, client.now)).Client(secure.Node, "w1", ""))
		for day := range 70 {
			client.set(time.Duration(day) * days)
			server.set(time.Duration(day)*days + differ)
			if c, err := ask(t, addr, cfg); err != nil || c.Node != "w1" {
				t.Fatalf("the server is %s ahead, day %d: %+v, %v", differ, day, c, err)
			}
		}
	}
}

// TestHeldCertificateIsReplaced: who has a certificate only as a text is known by the latest one, with the next connection; a bad text changes nothing.
func TestHeldCertificateIsReplaced(t *testing.T) {
	var clock wall
	k := must[*secure.Key](t)(secure.ParseAt(secure.Generate(), clock.now))
	addr := serve(t, k)
	own := k.Issuer(secure.Task, "job-1", "ann")
	clock.set(-8 * days) // a task's certificate lives for seven
	h := must[*secure.Holder](t)(secure.Hold(must[[]byte](t)(own.Text())))
	clock.set(0)
	if _, err := ask(t, addr, h.Client()); err == nil {
		t.Error("it should have ended")
	}
	next := must[[]byte](t)(own.Text())
	if err := h.Replace(next); err != nil {
		t.Fatal(err)
	}
	if err := h.Replace([]byte("nonsense")); err == nil {
		t.Error("nonsense is a certificate")
	}
	if c, err := ask(t, addr, h.Client()); err != nil || c.Job != "job-1" || c.User != "ann" {
		t.Errorf("with the next one: %+v, %v", c, err)
	}
	if again := must[[]byte](t)(own.Text()); string(again) != string(next) {
		t.Error("a fresh one is replaced")
	}
}
