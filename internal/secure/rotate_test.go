package secure_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
)

// TestKeyIsChanged: two processes change their key one after the other, in the three steps; each reaches the other all the
// time, by new connections, and at the end who has the old key only is a stranger.
func TestKeyIsChanged(t *testing.T) {
	old, next := secure.Generate(), secure.Generate()
	a, b := must[*secure.Key](t)(secure.Parse(old)), must[*secure.Key](t)(secure.Parse(old))
	addr := serve(t, a)
	cfg := must[rpc.ClientConfig](t)(b.Client(secure.Node, "w1", "")) // made once, as processes do
	outsider := must[*secure.Key](t)(secure.Parse(old))
	reach := func(when string) {
		t.Helper()
		if got, err := ask(t, addr, cfg); err != nil || got.Node != "w1" {
			t.Errorf("%s: %+v, %v", when, got, err)
		}
		pem := must[[]byte](t)(b.PEM(secure.Task, "job-1", "ann"))
		if got, err := ask(t, addr, must[rpc.ClientConfig](t)(secure.FromPEM(pem))); err != nil || got.Job != "job-1" {
			t.Errorf("%s: a task: %+v, %v", when, got, err)
		}
	}
	for _, step := range []struct{ name, text string }{
		{"added", old + "\n" + next + "\n"}, {"used", next + "\n" + old + "\n"}, {"the old one removed", next + "\n"},
	} {
		for i, k := range []*secure.Key{a, b} {
			changed := k.Changed()
			if err := k.Replace(step.text); err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
			default:
				t.Error("nobody is told")
			}
			reach(step.name + " by " + []string{"one", "both"}[i])
		}
	}
	if got, err := ask(t, addr, must[rpc.ClientConfig](t)(outsider.Client(secure.Node, "w1", ""))); err == nil {
		t.Errorf("with the old key one is still %+v", got)
	}
	if err := a.Replace("nonsense"); err == nil {
		t.Error("nonsense is a key")
	}
	reach("after nonsense")
}

// TestKeyFileIsFollowed: what is written to the file of a key is taken in; what cannot be used is not, and said.
func TestKeyFileIsFollowed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	first, second := secure.Generate(), secure.Generate()
	write(first)
	k := must[*secure.Key](t)(secure.Load(name))
	ctx, cancel := context.WithCancel(t.Context())
	told, done := make(chan error, 10), make(chan struct{})
	go func() {
		k.Follow(ctx, 5*time.Millisecond, func(err error) { told <- err })
		close(done)
	}()
	defer func() { cancel(); <-done }()
	hear := func() error {
		t.Helper()
		select {
		case err := <-told:
			return err
		case <-time.After(time.Minute):
			t.Fatal("nothing is told")
			return nil
		}
	}
	// A file that others can read is refused until its mode is mended: then it counts, though its text is what it was.
	if err := os.WriteFile(name+".new", []byte(first+"\n"+secure.Generate()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
	if err := hear(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hear(); err != nil {
		t.Errorf("a key whose mode was mended: %v", err)
	}
	write(first)
	if err := hear(); err != nil {
		t.Error(err)
	}
	write("nonsense")
	if err := hear(); err == nil || !strings.Contains(err.Error(), "not a cluster key") {
		t.Errorf("nonsense: %v", err)
	}
	if n := len(must[[][]byte](t)(k.Gossip())); n != 1 {
		t.Errorf("%d keys after nonsense", n)
	}
	write(first + "\n" + second)
	if err := hear(); err != nil {
		t.Error(err)
	}
	if n := len(must[[][]byte](t)(k.Gossip())); n != 2 {
		t.Errorf("%d keys", n)
	}
}
