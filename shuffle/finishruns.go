package shuffle

import (
	"errors"
	"slices"
)

// finishRuns merges the spills, and the sorted rest in memory if b is not nil, into
// the output.
func (c *Collector) finishRuns(b *batch) (*Output, error) {
	if b != nil && (b.table != nil || len(c.runs) >= c.cfg.MergeFactor || !c.reserveRuns(len(c.runs))) {
		if err := c.spillSorted(b); err != nil {
			return nil, err
		}
		b = nil
	}
	if b == nil {
		if len(c.runs) == 1 {
			out := c.runs[0]
			return out, c.rename(out)
		}
		if err := c.mergePasses(); err != nil {
			return nil, err
		}
	}
	out, err := c.writeOutput(func(w *segmentWriter) error { return c.mergeRuns(w, c.runs, b) })
	if err != nil {
		return nil, err
	}
	if err := c.dropRuns(c.runs); err != nil {
		return nil, errors.Join(err, out.Release())
	}
	return out, nil
}

// runBytes returns the memory needed to read one run.
func (c *Collector) runBytes() int64 {
	if c.cfg.Compression == None {
		return int64(c.cfg.Pool.frameSize())
	}
	return 2 * int64(c.cfg.Pool.frameSize())
}

// reserveRuns reserves the memory to read n runs.
func (c *Collector) reserveRuns(n int) bool { return c.acct.reserve(c.ctx, int64(n)*c.runBytes()) }

// mergePasses merges neighbouring runs until one more merge is enough, for which it keeps memory reserved. Nothing
// else is in memory, so even the floor allows some merging.
func (c *Collector) mergePasses() error {
	factor := min(c.cfg.MergeFactor, len(c.runs))
	for factor > 2 && !c.reserveRuns(factor) {
		factor--
	}
	if factor == 2 {
		c.acct.force(2 * c.runBytes())
	}
	for len(c.runs) > factor {
		lo, n := nextWindow(len(c.runs), factor, func(i int) int64 { return c.runs[i].storedBytes() })
		window := slices.Clone(c.runs[lo : lo+n])
		run, err := c.writeFile(c.nextFile(), func(w *segmentWriter) error { return c.mergeRuns(w, window, nil) })
		if err != nil {
			return err
		}
		c.stats.spilled(run)
		c.runs = slices.Replace(c.runs, lo, lo+n, run)
		if err := c.dropRuns(window); err != nil {
			return err
		}
	}
	return nil
}

func (c *Collector) dropRuns(runs []*Output) error {
	for _, r := range runs {
		if err := r.Release(); err != nil {
			return err
		}
	}
	return nil
}

// mergeRuns merges runs, and a batch after them, partition by partition.
func (c *Collector) mergeRuns(w *segmentWriter, runs []*Output, b *batch) error {
	mem := &carver{acct: c.acct, reserved: int64(len(runs)) * c.runBytes()}
	defer mem.recycle()
	files, err := openFiles(runs, mem)
	defer files.close()
	if err != nil {
		return err
	}
	m := merging{cfg: c.cfg.merge(), combining: c.combining(&c.stats), stats: &c.stats}
	for p := range c.cfg.Partitions {
		streams := files.streams(p)
		if b != nil && b.starts[p] < b.starts[p+1] {
			streams = append(streams, b.stream(p))
		}
		if len(streams) == 0 {
			continue
		}
		w.begin(p)
		if err := m.write(newMergedRun(c.ctx, streams, c.cfg.Compare, nil), w, p); err != nil {
			return err
		}
	}
	return nil
}

// storedBytes is the size of all partitions of a run.
func (o *Output) storedBytes() int64 {
	n := int64(0)
	for _, info := range o.infos {
		n += info.StoredBytes
	}
	return n
}

// fileSet is the open files of a merge over all partitions. Each has one buffer that serves the partitions in turn.
type fileSet struct {
	runs []*Output
	bufs [][]byte
	raws [][]byte
	mem  *carver
}

func openFiles(runs []*Output, mem *carver) (*fileSet, error) {
	f := &fileSet{mem: mem}
	for _, r := range runs {
		r.mu.Lock()
		err := r.retainLocked()
		r.mu.Unlock()
		if err != nil {
			return f, err
		}
		f.runs = append(f.runs, r)
		f.bufs = append(f.bufs, mem.get(r.frame))
		if r.codec != None {
			f.raws = append(f.raws, mem.get(r.frame))
		} else {
			f.raws = append(f.raws, nil)
		}
	}
	return f, nil
}

// streams opens partition p of each file that has records in it.
func (f *fileSet) streams(p int) []*stream {
	var out []*stream
	for i, r := range f.runs {
		if r.infos[p].Records == 0 {
			continue
		}
		rd := r.reader(p, f.bufs[i], f.mem)
		rd.raw = f.raws[i]
		out = append(out, &stream{feed: rd})
	}
	return out
}

func (f *fileSet) close() {
	for _, r := range f.runs {
		_ = r.releaseFile() // read only
	}
}
