package shuffle

import (
	"errors"
	"fmt"
	"slices"
)

// largeSegment is the average size from which segments count as large.
const largeSegment = 1 << 20

// mergeIfFull starts merging memory to disk once small segments use more than two thirds of it. Only one merge runs
// at a time. in.mu must be held.
func (in *Intake) mergeIfFull() {
	if in.merging || in.closed || in.held <= in.cfg.Memory/3*2 || len(in.memory) == 0 || in.held/int64(len(in.memory)) >= largeSegment {
		return
	}
	lot := in.memory
	in.memory = nil
	in.merging = true
	in.bg.Go(func() { guard(func() error { return in.mergeToDisk(lot) }, in.merged) })
}

// merged handles the end of a background merge.
func (in *Intake) merged(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.merging = false
	if in.bgErr == nil {
		in.bgErr = err
	}
	if err == nil {
		in.mergeIfFull()
	}
}

// mergeToDisk merges segments in memory to one file and frees them.
func (in *Intake) mergeToDisk(lot []*memSegment) error {
	m := in.merger(nil)
	streams := make([]*stream, len(lot))
	for i, s := range lot {
		streams[i], _ = s.open(nil) // memory does not fail
		defer in.unreserve(s.bytes, s.room)
	}
	run := newMergedRun(in.ctx, streams, m.cfg.Compare, nil)
	from := lotOrigin(lot)
	out, err := m.writeRun(run, &from, in.newFile("merge"))
	if err = errors.Join(err, run.Close()); err != nil {
		return fmt.Errorf("merge %d segments of %s in memory: %w", len(lot), in.cfg.Merge.Name, err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.owned = append(in.owned, out.path)
	in.files = append(in.files, placed{out.Source(0), from})
	in.stats.Spills++
	in.stats.SpilledRecords += out.infos[0].Records
	in.stats.SpilledBytes += out.infos[0].StoredBytes
	return nil
}

// lotOrigin returns the origin of segments in memory, merged. It is marked if a map between them may be elsewhere.
func lotOrigin(lot []*memSegment) origin {
	o := origin{lo: lot[0].from, hi: lot[0].from}
	for _, s := range lot {
		o.lo, o.hi = min(o.lo, s.from), max(o.hi, s.from)
	}
	o.marked = int64(o.hi)-int64(o.lo) >= int64(len(lot))
	return o
}

func (in *Intake) merger(sources []placed) *merger {
	return &merger{cfg: in.cfg.Merge, ctx: in.ctx, sources: sources}
}

// Stats counts what has been merged to disk so far.
func (in *Intake) Stats() Stats {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stats
}

// Merge ends the intake and returns all its records in order. The run is valid until Close of the Intake. No Take
// may be under way.
func (in *Intake) Merge() (Run, error) {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.bg.Wait()
	if in.bgErr != nil {
		return nil, in.bgErr
	}
	m := in.merger(in.sources())
	m.noWait, m.after = true, func() { in.lent.Store(false) }
	in.lent.Store(true)
	run, err := m.start()
	if !errors.Is(err, errNoRoom) {
		return run, err
	}
	// Waiting for memory while holding some could last forever, so free it first.
	if len(in.memory) > 0 {
		if err := in.mergeToDisk(in.memory); err != nil {
			return nil, err
		}
		in.memory = nil
	}
	in.acct.close()
	return in.merger(in.sources()).start()
}

// sources lists files and memory by their first maps.
func (in *Intake) sources() []placed {
	out := slices.Clone(in.files)
	for _, s := range in.memory {
		out = append(out, placed{s, origin{lo: s.from, hi: s.from}})
	}
	sortPlaced(out)
	return out
}

// Close frees memory and removes files. It waits for background merges and may be called twice. Runs of Merge must
// be closed before.
func (in *Intake) Close() error {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.bg.Wait()
	var errs []error
	for _, path := range in.owned {
		if err := in.cfg.Merge.FS.Remove(path); err != nil {
			errs = append(errs, scratchErr("remove", path, err))
		}
	}
	for _, s := range in.memory {
		if !in.lent.Load() { // otherwise user code left behind may still read the blocks
			s.room.free()
		}
	}
	in.owned, in.files, in.memory = nil, nil, nil
	in.acct.close()
	return errors.Join(errs...)
}
