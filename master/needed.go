package master

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/program"
	"github.com/millrace/millrace/internal/wire"
)

// needed caches what shipped executables need, by user, place and hash. Nobody has verified the hash yet, so it says
// nothing about another user's file.
type needed struct {
	mu  sync.Mutex // guards all
	all map[string]program.Needs
}

// maxNeeded bounds the cache. A full cache is emptied and filled again.
const maxNeeded = 1000

func (c *needed) get(key string) (program.Needs, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.all[key]
	return n, ok
}

func (c *needed) put(key string, n program.Needs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= maxNeeded || c.all == nil {
		c.all = map[string]program.Needs{}
	}
	c.all[key] = n
}

// headTimeout bounds how long the master tries to read the beginning of an executable. After that the workers find out.
const headTimeout = time.Second

// needsOf returns what an executable needs; nothing if that is unknown.
func (m *Master) needsOf(ctx context.Context, p *wire.Program, user string) (n program.Needs) {
	known := user + "\x00" + p.Exe + "\x00" + p.Hash
	if n, ok := m.made.get(known); ok {
		return n
	}
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	f, err := m.files().As(user, "").Open(ctx, p.Exe)
	if err != nil {
		return n
	}
	defer f.Close()
	head := make([]byte, program.HeadBytes)
	got, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n
	}
	n = program.Of(head[:got])
	m.made.put(known, n)
	return n
}

// files returns a client of the block store, like that of any client.
func (m *Master) files() *dfs.Client {
	return dfs.NewClient(dfs.Config{Master: m.addr, Client: m.peers, NoLocal: true})
}
