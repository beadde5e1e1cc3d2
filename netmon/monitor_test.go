package netmon

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/topology"
)

func monitor(t *testing.T, change func(*Config)) *Monitor {
	t.Helper()
	topo, err := topology.Uniform(2, 2, 100, 100) // 100 bytes/s everywhere
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	m, err := New(topo, cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.Sample(0)
	return m
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// spec/nas 3.3, item 2: NetState = max(EWMA(up), EWMA(down)), weight 0.5.
func TestUtilisation(t *testing.T) {
	m := monitor(t, nil)
	m.Count(0, 2, 80)
	m.Sample(time.Second)
	a, b := m.Rack(0), m.Rack(1)
	if !near(a.Up, 0.4) || a.Down != 0 || !near(b.Down, 0.4) || b.Up != 0 {
		t.Errorf("racks %+v %+v, want 0.4 up and 0.4 down", a.Link, b.Link)
	}
	if n := m.Node(0); !near(n.Up, 0.4) || n.UpBytes != 80 {
		t.Errorf("card of the sender %+v", n)
	}
	m.Sample(3 * time.Second) // nothing in two seconds
	if a := m.Rack(0); !near(a.Utilisation(), 0.2) {
		t.Errorf("after a quiet interval %g, want 0.2", a.Utilisation())
	}
}

// A card that is idle is not looked at, until it sends again.
func TestCardsWakeUp(t *testing.T) {
	m := monitor(t, func(c *Config) { c.Weight = 1 })
	m.Count(0, 1, 80)
	m.Sample(time.Second)
	m.Sample(2 * time.Second) // idle from here on
	m.Sample(3 * time.Second)
	if n := m.Node(0); n.Up != 0 || len(m.warm) != 0 {
		t.Errorf("an idle card is %g busy, %d are looked at", n.Up, len(m.warm))
	}
	m.Count(0, 1, 80)
	m.Sample(4 * time.Second)
	if a, b := m.Node(0), m.Node(1); !near(a.Up, 0.8) || a.UpBytes != 160 || !near(b.Down, 0.8) || b.DownBytes != 160 {
		t.Errorf("cards %+v %+v, want 0.8 up and down and 160 bytes", a, b)
	}
}

func TestWhatUsesWhichLink(t *testing.T) {
	m := monitor(t, func(c *Config) { c.Weight = 1 })
	m.Count(0, 0, 1000) // inside a node
	m.Count(0, 1, 50)   // inside a rack
	m.Count(0, 99, 50)  // to nobody
	m.Count(0, 2, -5)
	m.Background(1, 0, 30)
	m.Sample(time.Second)
	if r := m.Rack(0); r.Up != 0 {
		t.Errorf("rack 0 is %g busy with its own traffic", r.Up)
	}
	if n := m.Node(1); !near(n.Down, 0.5) {
		t.Errorf("card of node 1 %g, want 0.5", n.Down)
	}
	if r := m.Rack(1); !near(r.Down, 0.3) {
		t.Errorf("background on rack 1 %g, want 0.3", r.Down)
	}
	if got := m.Sent(0, 0); got != 1050 {
		t.Errorf("rack 0 to itself %d bytes, want 1050", got)
	}
	if s := m.Summary(); s.CrossRack != 0 || s.InRack != 1050 {
		t.Errorf("summary %+v", s)
	}
}

// spec/nas 3.3, item 4: an occurrence is a rising edge; rack-seconds are kept.
func TestEpisodes(t *testing.T) {
	for _, tc := range []struct {
		name     string
		clear    float64
		episodes int
		total    time.Duration
	}{
		{"as published", 0, 2, 2 * time.Second},
		{"with hysteresis", 0.5, 1, 3 * time.Second},
	} {
		m := monitor(t, func(c *Config) { c.Weight, c.Clear = 1, tc.clear })
		for i, bytes := range []int64{90, 60, 80, 10} {
			m.Count(0, 2, bytes)
			changed := m.Sample(time.Duration(i+1) * time.Second)
			if i == 0 && changed != 2 {
				t.Errorf("%s: %d racks changed at first, want both", tc.name, changed)
			}
		}
		r := m.Rack(0)
		if r.Episodes != tc.episodes || r.Total != tc.total || r.Congested {
			t.Errorf("%s: %+v", tc.name, r)
		}
		if s := m.Summary(); s.Episodes != 2*tc.episodes || s.Racks != 0 {
			t.Errorf("%s: summary %+v", tc.name, s)
		}
	}
}

func TestRepeatedAndEarlySamples(t *testing.T) {
	m := monitor(t, func(c *Config) { c.Weight = 1 })
	m.Count(0, 2, 50)
	if m.Sample(0) != 0 || m.Rack(0).UpBytes != 0 {
		t.Error("a sample without time was taken")
	}
	m.Sample(time.Second)
	if !near(m.Rack(0).Up, 0.5) {
		t.Errorf("%g, want 0.5", m.Rack(0).Up)
	}
}

// Racks and nodes that join later keep the matrix right.
func TestGrowth(t *testing.T) {
	b := topology.NewBuilder()
	r0, _ := b.AddRack(topology.Rack{Uplink: 100})
	n0, _ := b.AddNode(topology.Node{Rack: r0})
	m, err := New(b.Topology(), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	m.Count(n0, n0, 7)
	r1, _ := b.AddRack(topology.Rack{Uplink: 100})
	n1, _ := b.AddNode(topology.Node{Rack: r1})
	m.Count(n0, n1, 9)
	m.Count(n1, n0, 11)
	if m.Sent(r0, r0) != 7 || m.Sent(r0, r1) != 9 || m.Sent(r1, r0) != 11 || m.Sent(5, 0) != 0 {
		t.Errorf("matrix %v", m.matrix)
	}
}

// Every byte between racks leaves one rack and enters another, and no rate of
// sampling changes the totals.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		topo, err := topology.Uniform(1+r.IntN(4), 1+r.IntN(3), 1000, 1000)
		if err != nil {
			t.Fatal(err)
		}
		m, err := New(topo, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		now, want := time.Duration(0), int64(0)
		for range 200 {
			a, b, bytes := topology.NodeID(r.IntN(topo.NumNodes())), topology.NodeID(r.IntN(topo.NumNodes())), r.Int64N(500)
			m.Count(a, b, bytes)
			if topo.RackOf(a) != topo.RackOf(b) {
				want += bytes
			}
			if r.IntN(4) == 0 {
				now += time.Duration(r.Int64N(int64(2 * time.Second)))
				m.Sample(now)
			}
		}
		m.Sample(now + time.Second)
		var up, down int64
		for _, rack := range m.Racks() {
			up, down = up+rack.UpBytes, down+rack.DownBytes
			if rack.Up < 0 || rack.Total > now+time.Second {
				t.Fatalf("impossible rack %+v", rack)
			}
		}
		if got := m.Summary().CrossRack; got != want || up != want || down != want {
			t.Fatalf("%d bytes between racks, %d up, %d down, want %d", got, up, down, want)
		}
	})
}

func TestRefusedConfigs(t *testing.T) {
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"interval":  func(c *Config) { c.Interval = 0 },
		"weight":    func(c *Config) { c.Weight = math.NaN() },
		"threshold": func(c *Config) { c.Threshold = 0 },
		"clear":     func(c *Config) { c.Clear = 0.9 },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if _, err := New(topo, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("bad %s: %v", want, err)
		}
	}
	if _, err := New(nil, DefaultConfig()); err == nil {
		t.Error("no topology, no error")
	}
}
