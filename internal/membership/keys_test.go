package membership

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/memnet"
)

func keyOf(text string) []byte {
	k := sha256.Sum256([]byte(text))
	return k[:]
}

// TestWhoCannotStart: what cannot gossip is refused with what is wrong.
func TestWhoCannotStart(t *testing.T) {
	network := memnet.New(1)
	taken, err := network.Host("10.0.0.9").ListenPacket("10.0.0.9:7946")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Bind = "10.0.0.1" }, `gossip address "10.0.0.1"`},
		{func(c *Config) { c.Bind = "10.0.0.1:many" }, `gossip address "10.0.0.1:many"`},
		{func(c *Config) { c.Keys = [][]byte{[]byte("short")} }, "gossip key: "},
		{func(c *Config) { c.Bind, c.Network = "10.0.0.9:7946", network.Host("10.0.0.9") }, "gossip on 10.0.0.9:7946: "},
		{func(c *Config) { c.Rack = strings.Repeat("r", 600) }, "the description of member n has"},
	} {
		cfg := Config{Member: Member{Name: "n"}, Bind: "10.0.0.1:7946", Network: network.Host("10.0.0.1")}
		tt.change(&cfg)
		l, err := Start(cfg)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	if err := taken.Close(); err != nil { // who could not start has taken nothing else
		t.Error(err)
	}
}

// TestKeysOfAList: the first of its keys is used, and those that are not named any more are forgotten. Without one from the start, or
// with none, or with what is no key, nothing changes.
func TestKeysOfAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		begin := func(keys ...[]byte) *List {
			l, err := Start(Config{Member: Member{Name: "n"}, Bind: "10.0.0.1:7946", Network: network.Host("10.0.0.1"), Keys: keys})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		end := func(l *List) {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
		open := begin()
		if err := open.SetKeys([][]byte{keyOf("a")}); err == nil || !strings.Contains(err.Error(), "without a key cannot be given one") {
			t.Errorf("without a key: %v", err)
		}
		end(open)
		l := begin(keyOf("a"), keyOf("b"))
		holds := func(want ...string) {
			t.Helper()
			got := l.keys.GetKeys()
			ok := len(got) == len(want) && bytes.Equal(l.keys.GetPrimaryKey(), keyOf(want[0]))
			for _, w := range want {
				ok = ok && slices.ContainsFunc(got, func(k []byte) bool { return bytes.Equal(k, keyOf(w)) })
			}
			if !ok {
				t.Errorf("%d keys, want %v, the first in use", len(got), want)
			}
		}
		holds("a", "b")
		for _, bad := range [][][]byte{nil, {}, {[]byte("short")}} {
			if err := l.SetKeys(bad); err == nil {
				t.Errorf("%q were taken", bad)
			}
			holds("a", "b")
		}
		for _, keys := range [][]string{{"b", "a"}, {"b", "c"}, {"c"}, {"d"}} {
			var raw [][]byte
			for _, k := range keys {
				raw = append(raw, keyOf(k))
			}
			if err := l.SetKeys(raw); err != nil {
				t.Errorf("%v: %v", keys, err)
			}
			holds(keys...)
		}
		followed(t, l, holds)
		end(l)
	})
}

// followed changes the keys of a list that follows those of a cluster.
func followed(t *testing.T, l *List, holds func(want ...string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next, now := make(chan struct{}), []string{"e"}
	var broken error
	done := make(chan error, 1)
	go func() {
		done <- l.Follow(ctx, func() <-chan struct{} { return next }, func() (keys [][]byte, err error) {
			for _, k := range now {
				keys = append(keys, keyOf(k))
			}
			return keys, broken
		})
	}()
	change := func(keys ...string) {
		synctest.Wait()
		was := next
		next, now = make(chan struct{}), keys
		close(was)
		synctest.Wait()
	}
	synctest.Wait()
	holds("e")
	change("f", "e")
	holds("f", "e")
	broken = errors.New("a file that is none")
	change("g")
	if err := <-done; !errors.Is(err, broken) {
		t.Errorf("keys that cannot be had: %v", err)
	}
	holds("f", "e")
	broken = nil
	go func() {
		done <- l.Follow(ctx, func() <-chan struct{} { return next }, func() ([][]byte, error) { return [][]byte{keyOf("h")}, nil })
	}()
	synctest.Wait()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("when it ends: %v", err)
	}
	holds("h")
}
