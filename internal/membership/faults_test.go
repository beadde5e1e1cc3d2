package membership

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/memnet"
	"github.com/millrace/millrace/internal/require"
)

// A village is a cluster on a network in memory, at the default settings. The first member is the
// master, and the seed of the others, as in a cluster.
type village struct {
	t     *testing.T
	net   *memnet.Network
	key   []byte
	lists []*List
	mu    sync.Mutex // guards gone
	gone  []string   // who was given up by whom, and after what time
	begin time.Time
}

// inVillage runs a test with n members in virtual time; all are in when it begins.
func inVillage(t *testing.T, n int, test func(v *village)) {
	synctest.Test(t, func(t *testing.T) {
		key := sha256.Sum256([]byte("secret"))
		v := &village{t: t, net: memnet.New(1), key: key[:], begin: time.Now()}
		t.Cleanup(v.stop)
		for i := range n {
			v.join(i, nil)
		}
		v.whole(time.Minute)
		test(v)
	})
}

func ip(i int) string { return fmt.Sprintf("10.0.%d.%d", i/200, i%200+1) }

func (v *village) join(i int, change func(c *Config)) *List {
	v.t.Helper()
	cfg := Config{
		Member: Member{Name: fmt.Sprint("n", i), Role: "worker"}, Bind: ip(i) + ":7946", Label: "test", Network: v.net.Host(ip(i)),
		Seeds: func() []string { return []string{ip(0) + ":7946"} },
	}
	if v.key != nil {
		cfg.Keys = [][]byte{v.key}
	}
	cfg.Events = func(e Event) {
		if e.Kind == Gone {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.gone = append(v.gone, fmt.Sprintf("%s by n%d after %s", e.Member.Name, i, time.Since(v.begin)))
		}
	}
	if change != nil {
		change(&cfg)
	}
	l, err := Start(cfg)
	if err != nil {
		v.t.Fatal(err)
	}
	v.lists = append(v.lists, l)
	return l
}

func (v *village) stop() {
	var wg sync.WaitGroup
	for _, l := range v.lists {
		wg.Go(func() { _ = l.Close() }) // a farewell may find nobody
	}
	wg.Wait()
	time.Sleep(time.Minute) // probes that are under way end by themselves
}

// until waits for something, in virtual time, and returns how long it took.
func (v *village) until(what string, limit time.Duration, done func() bool) time.Duration {
	v.t.Helper()
	begin := time.Now()
	for !done() {
		if time.Since(begin) > limit {
			v.t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begin)
}

// whole waits until everybody sees everybody.
func (v *village) whole(limit time.Duration) time.Duration {
	v.t.Helper()
	return v.until("all see all", limit, func() bool {
		return !slices.ContainsFunc(v.lists, func(l *List) bool { return len(l.Members()) != len(v.lists) })
	})
}

// deaths forgets and returns who was given up so far.
func (v *village) deaths() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.gone
	v.gone = nil
	return out
}

// alone cuts some members off from the rest, and leaves them together.
func (v *village) alone(some ...int) {
	cut := map[string]bool{}
	for _, i := range some {
		cut[ip(i)] = true
	}
	v.net.Shape(func(from, to string) memnet.Link { return memnet.Link{Cut: cut[from] != cut[to]} })
}

func (v *village) heal() { v.net.Shape(func(_, _ string) memnet.Link { return memnet.Link{} }) }

func TestFortyJoin(t *testing.T) {
	n := 40
	if raced {
		n = 10
	}
	inVillage(t, n, func(v *village) {
		if d := v.deaths(); len(d) > 0 {
			t.Errorf("given up while joining: %s", d)
		}
		t.Logf("all saw all after %s", time.Since(v.begin))
	})
}

// TestCrash: a member that vanishes without a word is given up by all.
func TestCrash(t *testing.T) {
	inVillage(t, 5, func(v *village) {
		v.alone(3)
		took := v.until("n3 is given up by the others", 30*time.Second, func() bool {
			return !slices.ContainsFunc(v.lists, func(l *List) bool { return l != v.lists[3] && len(l.Members()) != 4 })
		})
		t.Logf("given up after %s", took)
	})
}

// TestLeave: a farewell is heard long before silence would be noticed, and is no flapping.
func TestLeave(t *testing.T) {
	inVillage(t, 5, func(v *village) {
		if err := v.lists[2].Close(); err != nil {
			t.Error(err)
		}
		v.lists = slices.Delete(v.lists, 2, 3)
		t.Logf("known to all after %s", v.whole(2*time.Second))
		time.Sleep(time.Minute)
		if n := len(v.deaths()); n != 4 {
			t.Errorf("four were told, %d heard", n)
		}
	})
}

// TestLongPartition is row 53 of FAULTS.md: gossip alone would never find the others again.
func TestLongPartition(t *testing.T) {
	cuts := []time.Duration{12 * time.Second, 45 * time.Second}
	if raced {
		cuts = cuts[:1]
	} else if require.Stressed() {
		cuts = append(cuts, 6*time.Second, 3*time.Minute, time.Hour)
	}
	for _, cut := range cuts {
		for name, side := range map[string][]int{"one": {3}, "master": {0}, "two": {1, 2}} {
			t.Run(fmt.Sprint(name, cut), func(t *testing.T) {
				inVillage(t, 6, func(v *village) {
					v.alone(side...)
					time.Sleep(cut)
					if n := len(v.lists[0].Members()); n == 6 && cut > 30*time.Second {
						t.Error("the cut was not noticed")
					}
					v.heal()
					t.Logf("all see all %s after healing", v.whole(10*time.Second))
					time.Sleep(10 * time.Second) // suspicions from before end as deaths, and are taken back
					v.whole(time.Second)
					v.deaths()
					time.Sleep(20 * time.Second)
					for _, d := range v.deaths() {
						if strings.Contains(d, "by n0 ") { // whom the cluster believes
							t.Errorf("given up after healing: %s", d)
						}
					}
				})
			})
		}
	}
}

// minutes is how long bad networks are suffered.
func minutes() time.Duration {
	switch {
	case raced:
		return 10 * time.Second
	case require.Stressed():
		return 10 * time.Minute
	}
	return time.Minute
}

// TestLoss is row 57: with every twentieth packet lost nobody is given up. A member that loses three in ten
// accuses others, too; all are members when it is over.
func TestLoss(t *testing.T) {
	inVillage(t, 6, func(v *village) {
		v.net.Shape(func(_, _ string) memnet.Link { return memnet.Link{Latency: time.Millisecond, Loss: .05} })
		time.Sleep(minutes())
		if d := v.deaths(); len(d) > 0 {
			t.Errorf("5 %% loss: given up: %s", d)
		}
		v.net.Shape(func(from, to string) memnet.Link {
			if from == ip(3) || to == ip(3) {
				return memnet.Link{Latency: time.Millisecond, Loss: .3}
			}
			return memnet.Link{Latency: time.Millisecond}
		})
		time.Sleep(minutes())
		t.Logf("n3 loses 30 %%: %d times somebody was given up by somebody", len(v.deaths()))
		v.heal()
		v.whole(10 * time.Second)
	})
}

// TestDelay is row 58: slow, doubled and overtaking packets are no deaths.
func TestDelay(t *testing.T) {
	inVillage(t, 6, func(v *village) {
		v.net.Shape(func(_, _ string) memnet.Link {
			return memnet.Link{Latency: 25 * time.Millisecond, Jitter: 100 * time.Millisecond, Double: .2}
		})
		time.Sleep(minutes())
		if d := v.deaths(); len(d) > 0 {
			t.Errorf("given up: %s", d)
		}
		rtt, ok := v.lists[0].RTT("n1")
		if !ok || rtt < 50*time.Millisecond || rtt > 250*time.Millisecond {
			t.Errorf("the round trip is %s", rtt)
		}
	})
}

// TestOneWay: a member that is heard and hears nothing, and one that hears and is not heard, are back
// after healing.
func TestOneWay(t *testing.T) {
	inVillage(t, 6, func(v *village) {
		for _, deaf := range []bool{true, false} {
			v.net.Shape(func(from, to string) memnet.Link {
				return memnet.Link{Cut: deaf && to == ip(2) || !deaf && from == ip(2)}
			})
			time.Sleep(minutes() * 3 / 2)
			v.heal()
			t.Logf("deaf %t: all see all %s after healing", deaf, v.whole(10*time.Second))
		}
	})
}

// TestStrangersInTheVillage: whoever has another key, none, or another label is never a member; nor does
// what it sends disturb anybody.
func TestStrangersInTheVillage(t *testing.T) {
	inVillage(t, 4, func(v *village) {
		other := sha256.Sum256([]byte("other"))
		members := v.lists
		for i, change := range []func(*Config){
			func(c *Config) { c.Keys = [][]byte{other[:]} }, func(c *Config) { c.Keys = nil }, func(c *Config) { c.Label = "elsewhere" },
		} {
			v.join(10+i, change)
		}
		time.Sleep(2 * time.Minute)
		for i, l := range members {
			if n := len(l.Members()); n != 4 {
				t.Errorf("n%d sees %d members", i, n)
			}
		}
		for _, l := range v.lists[4:] {
			if n := len(l.Members()); n != 1 {
				t.Errorf("%s sees %d members", l.cfg.Name, n)
			}
		}
		if d := v.deaths(); len(d) > 0 {
			t.Errorf("given up: %s", d)
		}
	})
}

// TestNoise: random packets, and streams that begin like messages, change nothing, with a key and without.
func TestNoise(t *testing.T) {
	for _, key := range []bool{true, false} {
		inVillage(t, 1, func(v *village) {
			if !key {
				v.key = nil
				for i := range 3 {
					v.join(20+i, func(c *Config) { c.Seeds = func() []string { return []string{ip(20) + ":7946"} } })
				}
				v.lists[0].Close()
				v.lists = v.lists[1:]
			} else {
				v.join(1, nil)
				v.join(2, nil)
			}
			v.whole(10 * time.Second)
			v.deaths()
			shout(t, v)
			time.Sleep(time.Minute)
			v.whole(time.Second)
			if d := v.deaths(); len(d) > 0 {
				t.Errorf("given up: %s", d)
			}
		})
	}
}

// shout sends garbage to the second member for a while.
func shout(t *testing.T, v *village) {
	t.Helper()
	dice := rand.New(rand.NewPCG(1, 2))
	h := v.net.Host("10.9.9.9")
	p, err := h.ListenPacket("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	to := v.lists[1].Addr()
	there := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to))
	for i := range 2000 {
		b := make([]byte, dice.IntN(200))
		for k := range b {
			b[k] = byte(dice.Uint32())
		}
		if len(b) > 2 && i%2 == 0 {
			b[0], b[1] = byte(i/2%16), byte(dice.IntN(4)<<6) // a kind of message that exists
		}
		if _, err := p.WriteTo(b, there); err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 {
			c, err := h.Dial(v.t.Context(), to)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.Write(b) // it may hang up meanwhile
			c.Close()
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// TestKeyRotation: the key of gossip is changed, member by member, in three steps; nobody is given up, and at the end the
// old key opens nothing.
func TestKeyRotation(t *testing.T) {
	inVillage(t, 6, func(v *village) {
		next := sha256.Sum256([]byte("next"))
		for _, keys := range [][][]byte{{v.key, next[:]}, {next[:], v.key}, {next[:]}} {
			for _, l := range v.lists {
				if err := l.SetKeys(keys); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
			}
		}
		time.Sleep(minutes())
		if d := v.deaths(); len(d) > 0 {
			t.Errorf("given up: %s", d)
		}
		members := len(v.lists)
		v.join(20, nil) // it has the old key
		time.Sleep(minutes())
		for _, l := range v.lists[:members] {
			if n := len(l.Members()); n != members {
				t.Errorf("%d members, want %d", n, members)
			}
		}
	})
}
