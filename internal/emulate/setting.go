package emulate

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// A Setting says which links are emulated, in a form that can be passed to another process.
type Setting struct {
	File  string         `json:"file"`         // shared by all processes
	FD    int            `json:"fd,omitempty"` // if not 0, this process has inherited the file, as it could not open it
	Rates topology.Links `json:"rates"`
}

// Start returns the shaper of a node. It calls nodes when a peer is not known. Close ends it once nothing is being
// sent any more.
func (s Setting) Start(self Place, nodes func(ctx context.Context) ([]wire.NodeStatus, error)) (*Shaper, error) {
	links, err := s.open()
	if err != nil {
		return nil, err
	}
	p := &places{ask: nodes, at: map[string]Place{}}
	return &Shaper{Links: links, Rates: s.Rates, Self: self, Locate: p.locate, Racks: p.racks}, nil
}

func (s Setting) open() (*Links, error) {
	if s.FD != 0 {
		return share(os.NewFile(uintptr(s.FD), "links"))
	}
	return Open(s.File)
}

// Nodes returns what asks a master for its nodes.
func Nodes(c func() *rpc.Client, master string) func(ctx context.Context) ([]wire.NodeStatus, error) {
	return func(ctx context.Context) ([]wire.NodeStatus, error) {
		return api.NodeList.Call(ctx, c(), master, struct{}{})
	}
}

// places caches where nodes are.
type places struct {
	ask func(ctx context.Context) ([]wire.NodeStatus, error)

	mu   sync.Mutex // guards the fields below; held while the master is asked
	at   map[string]Place
	next time.Time // when the master may be asked again
}

// askEvery is the least time between questions to the master about peers that are not nodes.
const askEvery = time.Second

func (p *places) locate(peer string) (Place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.at[peer]; ok || time.Now().Before(p.next) {
		return at, ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), askEvery)
	defer cancel()
	nodes, err := p.ask(ctx)
	p.next = time.Now().Add(askEvery)
	if err != nil {
		return Place{}, false // asks again later
	}
	for _, n := range nodes {
		at := Place{string(n.Node), n.Rack}
		p.at[string(n.Node)], p.at[n.Addr] = at, at
	}
	at, ok := p.at[peer]
	return at, ok
}

// racks returns the racks of all known nodes.
func (p *places) racks() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.at {
		out = append(out, at.Rack)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
