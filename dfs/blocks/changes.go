package blocks

import (
	"slices"
	"sync"

	"github.com/millrace/millrace/internal/wire"
)

// changes collects news for the name service. take removes it, and putBack returns it if the message was lost.
type changes struct {
	mu   sync.Mutex // guards news
	news news
	wake func() // called without locks when something was added; may be nil
}

type news struct {
	Received []wire.Block
	Deleted  []wire.Block
	Corrupt  []wire.BadBlock
	Failed   []wire.DoneWork
	Done     []wire.Recovered
}

func (c *changes) add(fn func(n *news)) {
	c.mu.Lock()
	fn(&c.news)
	wake := c.wake
	c.mu.Unlock()
	if wake != nil {
		wake()
	}
}

func (c *changes) received(b wire.Block) { c.add(func(n *news) { n.Received = append(n.Received, b) }) }

// deleted also drops the unreported receipt of the replica, because the name service reads Deleted before
// Received.
func (c *changes) deleted(b wire.Block) {
	c.add(func(n *news) {
		n.Received = slices.DeleteFunc(n.Received, func(r wire.Block) bool { return r.ID == b.ID && r.Gen <= b.Gen })
		n.Deleted = append(n.Deleted, b)
	})
}

func (c *changes) corrupt(b wire.BadBlock) {
	c.add(func(n *news) { n.Corrupt = append(n.Corrupt, b) })
}

func (c *changes) failed(w wire.DoneWork) { c.add(func(n *news) { n.Failed = append(n.Failed, w) }) }

func (c *changes) recovered(r wire.Recovered) {
	c.add(func(n *news) { n.Done = append(n.Done, r) })
}

func (c *changes) take() news {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.news
	c.news = news{}
	return n
}

// putBack puts old news before what has come since.
func (c *changes) putBack(old news) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news = news{
		append(old.Received, c.news.Received...), append(old.Deleted, c.news.Deleted...),
		append(old.Corrupt, c.news.Corrupt...), append(old.Failed, c.news.Failed...), append(old.Done, c.news.Done...),
	}
}
