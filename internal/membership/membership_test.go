package membership

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func start(t *testing.T, name string, change func(*Config)) *List {
	t.Helper()
	cfg := Config{
		Member: Member{Name: name, Role: "worker", Rack: "r1", Addr: name + ":1"}, Bind: "127.0.0.1:0", Label: "test",
		Probe: 100 * time.Millisecond, Rejoin: 100 * time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	l, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it may be gone already
	return l
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("waited half a minute: %s", what)
		}
	}
}

func seeds(list ...*List) func() []string {
	return func() (out []string) {
		for _, l := range list {
			out = append(out, l.Addr())
		}
		return out
	}
}

func TestMembersFindEachOther(t *testing.T) {
	key := sha256.Sum256([]byte("secret"))
	var mu sync.Mutex
	seen := map[string][]EventKind{}
	master := start(t, "m", func(c *Config) {
		c.Role, c.Keys = "master", [][]byte{key[:]}
		c.Events = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			seen[e.Member.Name] = append(seen[e.Member.Name], e.Kind)
		}
	})
	var all []*List
	for i := range 5 {
		all = append(all, start(t, fmt.Sprint("w", i), func(c *Config) { c.Keys, c.Seeds = [][]byte{key[:]}, seeds(master) }))
	}
	for _, l := range all {
		eventually(t, "all are seen", func() bool { return len(l.Members()) == 6 })
	}
	eventually(t, "round trips are measured", func() bool { _, ok := master.RTT("w1"); return ok })
	for _, m := range master.Members() {
		if m.Name == "w3" && (m.Role != "worker" || m.Rack != "r1" || m.Addr != "w3:1") {
			t.Errorf("w3 is %+v", m)
		}
	}
	if err := all[2].Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the farewell is heard", func() bool {
		mu.Lock()
		defer mu.Unlock()
		k := seen["w2"]
		return len(k) > 0 && k[len(k)-1] == Gone
	})
	if err := all[2].Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestStrangersStayOut: without the key, with another, and under another label nobody gets in.
func TestStrangersStayOut(t *testing.T) {
	key, other := sha256.Sum256([]byte("secret")), sha256.Sum256([]byte("other"))
	m := start(t, "m", func(c *Config) { c.Keys = [][]byte{key[:]} })
	friend := start(t, "friend", func(c *Config) { c.Keys, c.Seeds = [][]byte{key[:]}, seeds(m) })
	for name, change := range map[string]func(*Config){
		"nokey": func(*Config) {}, "otherkey": func(c *Config) { c.Keys = [][]byte{other[:]} },
		"otherlabel": func(c *Config) { c.Keys, c.Label = [][]byte{key[:]}, "elsewhere" },
	} {
		start(t, name, func(c *Config) {
			change(c)
			c.Seeds = seeds(m)
		})
	}
	eventually(t, "the friend is in", func() bool { return len(m.Members()) == 2 && len(friend.Members()) == 2 })
	time.Sleep(500 * time.Millisecond) // several rounds of trying to get in
	if n := len(m.Members()); n != 2 {
		t.Errorf("%d members: %+v", n, m.Members())
	}
}

// TestRejoin: a seed that was away, and came back at the same place, is found again.
func TestRejoin(t *testing.T) {
	m := start(t, "m", nil)
	addr := m.Addr()
	w := start(t, "w", func(c *Config) { c.Seeds = func() []string { return []string{addr} } })
	eventually(t, "both are in", func() bool { return len(w.Members()) == 2 })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the master is gone", func() bool { return len(w.Members()) == 1 })
	start(t, "m", func(c *Config) { c.Bind = addr })
	eventually(t, "the master is found again", func() bool { return len(w.Members()) == 2 })
}

func TestTooMuchToSay(t *testing.T) {
	_, err := Start(Config{Member: Member{Name: "x", Rack: strings.Repeat("r", 600)}, Bind: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), "512") {
		t.Errorf("started with %v", err)
	}
}
