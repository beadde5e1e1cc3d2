package rpc

import (
	"sync"
	"sync/atomic"
)

// A crew answers the calls of one connection, each by a goroutine. Those that are done wait a while
// for more: a new goroutine would have to grow its stack again, which took a quarter of the time of a
// short call.
type crew struct {
	calls chan func()
	idle  atomic.Int32
	wg    sync.WaitGroup
}

// maxIdle is how many may wait.
const maxIdle = 32

func newCrew() *crew { return &crew{calls: make(chan func())} }

// do runs fn beside the caller. It must not be called after or beside close.
func (c *crew) do(fn func()) {
	select {
	case c.calls <- fn:
	default:
		c.wg.Go(func() { c.work(fn) })
	}
}

func (c *crew) work(fn func()) {
	for ok := true; ok; {
		fn()
		if c.idle.Add(1) <= maxIdle {
			fn, ok = <-c.calls
		} else {
			ok = false
		}
		c.idle.Add(-1)
	}
}

// close waits until all is done.
func (c *crew) close() {
	close(c.calls)
	c.wg.Wait()
}
