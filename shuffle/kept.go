package shuffle

import "context"

// stream opens partition p of an output in memory. o.mu must be held.
func (m *memory) stream(o *Output, p int) *stream {
	o.readers.Add(1)
	var s *stream
	if m.batch != nil {
		s = m.batch.stream(p)
	} else {
		s = &stream{feed: &rangeFeeder{m.packed.parts[p].ranges}}
	}
	s.onClose = func() error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.readers.Add(-1) == 0 && m.dropped {
			m.free()
		}
		return nil
	}
	return s
}

// free releases the memory. The caller holds the mu of its output.
func (m *memory) free() {
	if m.batch != nil {
		m.batch.arena.recycle()
		m.batch.idx.recycle()
	} else {
		m.packed.arena.recycle()
	}
	m.acct.close()
}

// dropMemory releases the memory, now or when its last reader closes. o.mu must be held.
func (o *Output) dropMemory() {
	m := o.mem
	o.mem = nil
	o.inMemory.Store(false)
	m.pool.mu.Lock()
	m.pool.dropKept(o)
	m.pool.mu.Unlock()
	if m.dropped = true; o.readers.Load() == 0 {
		m.free()
	}
}

// keep registers an output in memory with its pool, which may move it to disk from then on. Before, nobody else
// knows the output.
func (o *Output) keep(m *memory) {
	o.mem = m
	o.inMemory.Store(true)
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	o.memBytes = m.acct.held
	m.pool.addKept(o)
}

// SpillToDisk turns an output in memory into a file, to free memory or to serve it. It does nothing if the output is
// a file already.
func (o *Output) SpillToDisk() error {
	o.mu.Lock()
	m := o.mem
	o.mu.Unlock()
	if m == nil {
		return nil
	}
	m.pool.spillMu.Lock()
	defer m.pool.spillMu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mem == nil {
		return nil
	}
	foot, err := o.writeMemory(m)
	if err != nil {
		return err
	}
	o.infos, o.frame = foot.partitions, int(foot.frame) // the tag already is that of the name
	o.dropMemory()
	return nil
}

// writeMemory writes the memory as a segment file under the output's final name. o.mu and the pool's spillMu must be
// held.
func (o *Output) writeMemory(m *memory) (*footer, error) {
	if m.pool.spillBuf == nil || m.pool.spillBuf.packed == nil && o.codec != None {
		m.pool.spillBuf = newFrameBuffers(m.pool, o.codec)
	}
	tmp := o.path + ".tmp"
	w, err := newSegmentWriter(context.Background(), o.fs, tmp, o.name, o.codec, len(o.infos), m.pool.spillBuf)
	if err != nil {
		return nil, err
	}
	if m.batch != nil {
		err = m.batch.writeTo(w, nil, func() error { return nil })
	} else {
		err = m.packed.writeTo(w)
	}
	return commit(w, err, tmp, o.path)
}

// writeTo copies the packed records to a segment file.
func (k *packed) writeTo(w *segmentWriter) error {
	for p := range k.parts {
		if k.parts[p].info.Records == 0 {
			continue
		}
		w.begin(p)
		for _, r := range k.parts[p].ranges {
			for len(r) > 0 {
				kl, vl, h, _ := parseHeader(r)
				if err := w.append(r[:h+kl+vl]); err != nil {
					return err
				}
				r = r[h+kl+vl:]
			}
		}
	}
	return nil
}

// commit finishes a segment file and gives it its final name. After an error it removes the file.
func commit(w *segmentWriter, err error, tmp, path string) (*footer, error) {
	if err != nil {
		w.discard()
		return nil, err
	}
	foot, err := w.finish()
	if err != nil {
		return nil, err
	}
	if err := w.fs.Rename(tmp, path); err != nil {
		w.discard()
		return nil, scratchErr("rename", tmp, err)
	}
	return foot, nil
}
