package rpc

import (
	"sync"
	"sync/atomic"
)

// A crew answers the calls of one connection, each in a goroutine. Finished goroutines wait a while for more calls:
// a new one would have to grow its stack again, which took a quarter of the time of a short call.
type crew struct {
	calls chan func()
	idle  atomic.Int32
	wg    sync.WaitGroup
}

// maxIdle is how many goroutines may wait.
const maxIdle = 32

func newCrew() *crew { return &crew{calls: make(chan func())} }

// do runs fn in another goroutine. It must not be called during or after close.
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

// close waits until all calls are done.
func (c *crew) close() {
	close(c.calls)
	c.wg.Wait()
}
