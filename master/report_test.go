package master

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/wire"
)

// TestWhatIsNews: an answer is held back only while there is nothing in it that a worker has to do or know.
func TestWhatIsNews(t *testing.T) {
	for what, a := range map[string]wire.Answer{
		"a whole report is wanted": {Full: true},
		"an end was taken in":      {Ended: make([]wire.AttemptID, 1)},
		"something is to start":    {Launch: make([]wire.Launch, 1)},
		"something is to stop":     {Kill: make([]wire.Kill, 1)},
		"output is to go":          {Drop: make([]wire.StageRef, 1)},
	} {
		if !hasNews(&a) {
			t.Errorf("%s, and it is no news", what)
		}
	}
	if hasNews(&wire.Answer{Epoch: 3}) {
		t.Error("an epoch is news")
	}
}

// TestStoreHearsOfLostWorkers: when the master gives a worker up, because its connection broke or because nobody listens for it, the block store
// does not wait for its replicas either.
func TestStoreHearsOfLostWorkers(t *testing.T) {
	for what, broken := range map[string]bool{"its connection broke": true, "nobody listens": false} {
		t.Run(what, func(t *testing.T) {
			m := served(t, impatient, func(c *Config) {
				c.Names = func(c *names.Config) { c.DeadAfter = time.Hour }
				if broken {
					c.Hold = time.Hour
				}
			})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for _, name := range []wire.NodeName{"w1", "w2", "w3"} {
				if _, err := m.names.Register(wire.RegisterRequest{Node: name, Rack: "r1", Addr: "127.0.0.1:1"}); err != nil {
					t.Fatal(err)
				}
				h := newHand(t, m, name)
				h.report.Fresh, h.report.Addr = true, l.Addr().String()
				if name == "w1" && !broken {
					h.report.Addr = "127.0.0.1:1"
				}
				h.say()
				if name != "w1" || !broken {
					continue
				}
				ctx, cancel := context.WithCancel(t.Context())
				h.report.Fresh, h.report.Seq = false, h.report.Seq+1
				done := make(chan error, 1)
				go func() {
					_, err := m.report(ctx, h.caller(), h.report)
					done <- err
				}()
				parks(t, m, name)
				cancel()
				<-done
			}
			eventually(t, "the store knows", func() bool {
				nodes := m.names.Nodes()
				if nodes[1].State != "live" || nodes[2].State != "live" {
					t.Fatalf("%+v", nodes)
				}
				return nodes[0].State != "live"
			})
			if s := stateOf(t, m, "w1"); s != "down" {
				t.Errorf("the worker is %s", s)
			}
		})
	}
}
