package shuffle

import "runtime"

// lot is memory that is sorted and written in the background.
type lot struct {
	data  arena
	idx   index
	path  string
	done  chan struct{} // closed when the fields below are set
	run   *Output
	stats Stats
	err   error
}

// startSpill hands the records in memory to the background, which sorts them and writes them as a run. Their memory
// is free when that is done. No other spill may be under way.
func (c *Collector) startSpill() {
	l := &lot{data: c.data, idx: c.idx, path: c.nextFile(), done: make(chan struct{})}
	c.data, c.idx = newArena(c.cfg.Pool), newIndex(c.cfg.Pool)
	clear(c.sizes)
	c.lot = l
	bufs := c.buffers() // made here: the background only uses them
	go func() {
		defer close(l.done)
		defer func() { c.acct.release(l.data.recycle() + 2*l.idx.recycle()) }()
		guard(func() (err error) {
			l.run, err = c.writeLot(l, bufs)
			return err
		}, func(err error) { l.err = err })
	}()
}

// writeLot sorts and writes a lot. It runs in the background and touches nothing of
// the collector that Add changes.
func (c *Collector) writeLot(l *lot, bufs *frameBuffers) (*Output, error) {
	b, err := c.sortRecords(&l.data, &l.idx)
	if err != nil {
		return nil, err
	}
	return c.writeFileWith(bufs, l.path, func(w *segmentWriter) error {
		return b.writeTo(w, c.combining(&l.stats), c.check)
	})
}

// waitSpill waits for a background spill, if there is one, and adds its run.
func (c *Collector) waitSpill() error {
	l := c.lot
	if l == nil {
		return nil
	}
	<-l.done
	c.lot = nil
	if l.err != nil {
		return l.err
	}
	c.stats.CombineIn += l.stats.CombineIn
	c.stats.CombineOut += l.stats.CombineOut
	c.stats.Spills++
	c.stats.spilled(l.run)
	c.runs = append(c.runs, l.run)
	return nil
}

// spillAhead starts a spill before memory runs out if a processor is idle: when this collector has half of what it
// may have, and there are fewer collectors than processors. It does not with a combiner, which may share state with
// the code that calls Add.
func (c *Collector) spillAhead() {
	if c.lot != nil || c.idx.n == 0 || c.cfg.Combine != nil {
		return
	}
	p := c.cfg.Pool
	p.mu.Lock()
	users := int64(len(p.growing))
	half := (p.limit - p.fixed + p.keptBytes) / users / 2
	ahead := c.acct.held > half
	p.mu.Unlock()
	if ahead && users < int64(runtime.GOMAXPROCS(0)) {
		c.startSpill()
	}
}
