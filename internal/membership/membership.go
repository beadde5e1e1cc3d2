package membership

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// A Member is one process of the cluster.
type Member struct {
	Name string `json:"-"`
	Role string `json:"role"` // master or worker
	Rack string `json:"rack,omitempty"`
	Addr string `json:"addr,omitempty"` // where it is called
	// Session changes when the process is restarted.
	Session string `json:"session,omitempty"`
	Gossip  string `json:"-"` // where it gossips
}

// An EventKind says what happened to a member.
type EventKind uint8

// The kinds of event.
const (
	Joined  EventKind = iota
	Updated           // its metadata changed
	Gone              // it left, or is considered dead: gossip does not say which
)

// An Event is one change.
type Event struct {
	Kind   EventKind
	Member Member
}

// Config describes a member and how patient it is.
type Config struct {
	Member
	Bind string // host:port for gossip; port 0 takes a free one
	// Keys are of 32 bytes each. The first encrypts gossip; the others are only understood. Without keys it is not
	// encrypted.
	Keys  [][]byte
	Label string // of the cluster: members with another one are ignored
	// Seeds returns addresses to join by. It is called again when members are missing.
	Seeds func() []string
	// Events is called in order by one goroutine. If it blocks, events wait.
	Events func(e Event)
	// Probe is how often a member is probed; 0 means 1 s. Shorter: deaths are seen earlier, and busy machines are
	// more often considered dead.
	Probe time.Duration
	// Rejoin is how often to call missing seeds and lost members; 0 means 3 s.
	Rejoin time.Duration
	Log    *slog.Logger
	// Network replaces the machine's own.
	Network Network
}

// maxMeta is how many bytes memberlist carries for a member.
const maxMeta = 512

// A List is this process's view of the cluster.
type List struct {
	cfg    Config
	ml     *memberlist.Memberlist
	keys   *memberlist.Keyring // nil: not encrypted
	meta   []byte
	addr   string
	wg     sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex // guards the fields below
	queue []Event
	rtt   map[string]time.Duration
	here  map[string]Member // by name; memberlist changes its own list while others read it
	lost  map[string]loss   // by name
	wake  chan struct{}
}

// Start starts gossip. Nobody else need be there yet: seeds are joined once they can be.
func Start(cfg Config) (*List, error) {
	meta, err := json.Marshal(cfg.Member)
	if err != nil {
		return nil, err
	}
	if len(meta) > maxMeta {
		return nil, fmt.Errorf("the description of member %s has %d bytes, gossip carries %d: shorten rack or address", cfg.Name, len(meta), maxMeta)
	}
	l := &List{cfg: cfg, meta: meta, rtt: map[string]time.Duration{}, here: map[string]Member{}, lost: map[string]loss{}, wake: make(chan struct{}, 1)}
	mc, err := l.config()
	if err != nil {
		return nil, err
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if l.ml, err = memberlist.Create(mc); err != nil {
		l.cancel()
		return nil, fmt.Errorf("gossip on %s: %w", cfg.Bind, err)
	}
	l.addr = l.ml.LocalNode().Address()
	l.wg.Go(l.deliver)
	l.wg.Go(func() { l.rejoin(l.missing) })
	l.wg.Go(func() { l.rejoin(l.strayed) })
	return l, nil
}

// config starts with memberlist's values for a local network, whose retransmissions are enough for many nodes to
// find each other at once.
func (l *List) config() (*memberlist.Config, error) {
	host, port, err := net.SplitHostPort(l.cfg.Bind)
	if err != nil {
		return nil, fmt.Errorf("gossip address %q: %w", l.cfg.Bind, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("gossip address %q: %w", l.cfg.Bind, err)
	}
	c := memberlist.DefaultLANConfig()
	c.Name, c.BindAddr, c.BindPort, c.AdvertisePort = l.cfg.Name, host, n, n
	c.Label = l.cfg.Label
	if len(l.cfg.Keys) > 0 {
		if c.Keyring, err = memberlist.NewKeyring(l.cfg.Keys, l.cfg.Keys[0]); err != nil {
			return nil, fmt.Errorf("gossip key: %w", err)
		}
		l.keys = c.Keyring
	}
	if c.ProbeInterval = l.cfg.Probe; c.ProbeInterval == 0 {
		c.ProbeInterval = time.Second
	}
	c.ProbeTimeout = c.ProbeInterval / 2
	c.GossipToTheDeadTime = time.Minute
	// News spreads by chance. About one time in a hundred, a member of six misses that another has joined, or that a
	// suspicion was withdrawn. The exchange of everything, by default every half minute, repairs that.
	c.PushPullInterval = 5 * time.Second
	c.TCPTimeout = 3 * time.Second // a cut may heal during a call, which is then repeated
	c.Delegate, c.Events, c.Ping = delegate{l}, delegate{l}, delegate{l}
	if l.cfg.Network != nil {
		if c.Transport, err = listen(l.cfg.Network, l.cfg.Bind); err != nil {
			return nil, fmt.Errorf("gossip on %s: %w", l.cfg.Bind, err)
		}
	}
	log := l.cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c.LogOutput, c.Logger = nil, slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	return c, nil
}

// Addr returns the address of this member's gossip.
func (l *List) Addr() string { return l.addr }

// SetKeys replaces the keys while members gossip. There must have been one from the start.
func (l *List) SetKeys(keys [][]byte) error {
	if l.keys == nil || len(keys) == 0 {
		return errors.New("gossip without a key cannot be given one while it runs")
	}
	for _, k := range keys {
		if err := l.keys.AddKey(k); err != nil {
			return fmt.Errorf("gossip key: %w", err)
		}
	}
	if err := l.keys.UseKey(keys[0]); err != nil {
		return fmt.Errorf("gossip key: %w", err)
	}
	for _, old := range l.keys.GetKeys() {
		if !slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, old) }) {
			if err := l.keys.RemoveKey(old); err != nil {
				return fmt.Errorf("gossip key: %w", err)
			}
		}
	}
	return nil
}

// Follow replaces the keys of a list whenever the cluster's change, until ctx ends.
func (l *List) Follow(ctx context.Context, changed func() <-chan struct{}, keys func() ([][]byte, error)) error {
	for {
		next := changed()
		now, err := keys()
		if err == nil {
			err = l.SetKeys(now)
		}
		if err != nil {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
}

// Members lists the members considered alive, including this one, sorted by name.
func (l *List) Members() []Member {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.here), func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
}

// RTT returns the last round-trip time to a member, if any was measured.
func (l *List) RTT(name string) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.rtt[name]
	return d, ok
}

// memberOf decodes what a node says of itself. If that fails, it returns a member without a role.
func memberOf(n *memberlist.Node) Member {
	var m Member
	if json.Unmarshal(n.Meta, &m) != nil {
		m = Member{}
	}
	m.Name, m.Gossip = n.Name, n.Address()
	return m
}

// deliver delivers events in order, outside memberlist's locks.
func (l *List) deliver() {
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-l.wake:
		}
		for {
			l.mu.Lock()
			if len(l.queue) == 0 {
				l.mu.Unlock()
				break
			}
			e := l.queue[0]
			l.queue = l.queue[1:]
			l.mu.Unlock()
			if l.cfg.Events != nil {
				l.cfg.Events(e)
			}
		}
	}
}

func (l *List) push(k EventKind, n *memberlist.Node) {
	l.mu.Lock()
	m := memberOf(n)
	l.queue = append(l.queue, Event{k, m})
	if k == Gone {
		delete(l.rtt, m.Name)
		delete(l.here, m.Name)
		l.lost[m.Name] = loss{m.Gossip, time.Now()}
	} else {
		delete(l.lost, m.Name)
		l.here[m.Name] = m
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// leaveTimeout is how long the farewell may take to spread.
const leaveTimeout = time.Second

// Close says farewell and stops. It may be called twice.
func (l *List) Close() error {
	if l.ctx.Err() != nil {
		return nil //nolint:nilerr // it is closed
	}
	l.cancel()
	if err := l.ml.Leave(leaveTimeout); err != nil && l.cfg.Log != nil { // optional: silence says as much, later
		l.cfg.Log.Debug("gossip: no farewell", "error", err)
	}
	err := l.ml.Shutdown()
	l.wg.Wait()
	return err
}

// delegate is called by memberlist, under its locks. So it only copies and returns.
type delegate struct{ l *List }

func (d delegate) NodeMeta(limit int) []byte {
	if len(d.l.meta) > limit {
		return nil
	}
	return d.l.meta
}
func (delegate) NotifyMsg([]byte)                  {}
func (delegate) GetBroadcasts(_, _ int) [][]byte   { return nil }
func (delegate) LocalState(bool) []byte            { return nil }
func (delegate) MergeRemoteState([]byte, bool)     {}
func (d delegate) NotifyJoin(n *memberlist.Node)   { d.l.push(Joined, n) }
func (d delegate) NotifyLeave(n *memberlist.Node)  { d.l.push(Gone, n) }
func (d delegate) NotifyUpdate(n *memberlist.Node) { d.l.push(Updated, n) }
func (delegate) AckPayload() []byte                { return nil }
func (d delegate) NotifyPingComplete(n *memberlist.Node, rtt time.Duration, _ []byte) {
	d.l.mu.Lock()
	defer d.l.mu.Unlock()
	d.l.rtt[n.Name] = rtt
}
