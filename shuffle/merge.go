package shuffle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// streamSource is a Source of this package, which reads through the merge's own buffers.
type streamSource interface {
	Source
	// open opens the source with buffers from mem.
	open(mem *carver) (*stream, error)
	// need returns the memory for those buffers.
	need() int64
	// size returns roughly the bytes to read.
	size() int64
}

// Merge merges sorted sources into one run. Ties go to the source with the lower index. It opens at most MergeFactor
// sources at a time, and fewer if the memory for their buffers exceeds a quarter of the pool. If there are more
// sources, it first merges neighbours, combined or folded, to files in Dir, which are removed when the run is
// closed. With a Fold the run has one record for each key. Merge waits until the pool has room for its buffers.
func Merge(ctx context.Context, cfg MergeConfig, sources []Source) (Run, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return (&merger{cfg: cfg, ctx: ctx, sources: inOrder(sources)}).start()
}

// merger holds what a merge owns while its run is open.
type merger struct {
	cfg     MergeConfig
	ctx     context.Context
	sources []placed // sorted by their first maps
	acct    *account
	mem     carver
	temps   []*Output // results of passes
	nfiles  int
	stats   Stats
	noWait  bool   // fail with errNoRoom instead of waiting for memory
	after   func() // if not nil, called when the merge is closed or could not be opened
}

// start opens the merge. After an error nothing is left of it.
func (m *merger) start() (Run, error) {
	run, err := m.open()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("merge %s: %w", m.cfg.Name, err), m.close())
	}
	return run, nil
}

// open runs the passes and opens the last merge.
func (m *merger) open() (Run, error) {
	factor, err := m.reserve()
	if err != nil {
		return nil, err
	}
	for files := m.files(); len(files) > factor; files = m.files() {
		if err := m.pass(files, factor); err != nil {
			return nil, err
		}
	}
	run, err := m.merged(m.sources, m.close)
	if err != nil || m.cfg.Fold == nil {
		return run, err
	}
	return newFoldRun(run, m.cfg.Fold, m.cfg.Compare, &m.stats), nil
}

// reserve plans the merge and reserves its memory. It starts over if sources moved from memory to disk meanwhile;
// they never move back.
func (m *merger) reserve() (factor int, err error) {
	for {
		factor, bytes := m.plan()
		if m.acct, err = m.join(bytes); err != nil {
			return 0, err
		}
		if _, now := m.plan(); now <= bytes {
			m.mem = carver{acct: m.acct, reserved: bytes}
			return factor, nil
		}
		m.acct.close()
	}
}

// join reserves the memory of the merge, and waits for it unless noWait is set.
func (m *merger) join(bytes int64) (*account, error) {
	if m.noWait {
		return m.cfg.Pool.tryJoin(m.ctx, bytes)
	}
	return m.cfg.Pool.join(m.ctx, bytes, false)
}

// files lists the sources that need a file descriptor or a buffer. Sources in memory can be merged in any number.
func (m *merger) files() []int {
	var at []int
	for i, s := range m.sources {
		if s, ok := s.Source.(streamSource); !ok || s.need() > 0 {
			at = append(at, i)
		}
	}
	return at
}

// plan decides how many files are open at once, and the memory for that.
func (m *merger) plan() (factor int, bytes int64) {
	var needs []int64
	for _, i := range m.files() {
		n := int64(0)
		if s, ok := m.sources[i].Source.(streamSource); ok {
			n = s.need()
		}
		needs = append(needs, n)
	}
	slices.SortFunc(needs, func(a, b int64) int { return cmp.Compare(b, a) })
	factor = max(min(m.cfg.MergeFactor, len(needs)), 2)
	limit := m.cfg.Pool.limit / 4
	if len(needs) > factor || sum(needs) > limit {
		for i := range needs { // the results of passes are read as well
			needs[i] = max(needs[i], 2*int64(m.cfg.Pool.frameSize()))
		}
	}
	needs = needs[:min(factor, len(needs))]
	for len(needs) > 2 && sum(needs) > limit {
		needs = needs[:len(needs)-1]
		factor = len(needs)
	}
	bytes = sum(needs)
	if len(m.files()) > factor {
		bytes += frameBufferBytes(m.cfg.Pool, m.cfg.Compression)
	}
	return factor, bytes
}

func sum(ns []int64) int64 {
	total := int64(0)
	for _, n := range ns {
		total += n
	}
	return total
}

// merged opens sources and merges them; onClose is called when the run is closed.
func (m *merger) merged(sources []placed, onClose func() error) (*mergedRun, error) {
	var streams []*stream
	for _, src := range sources {
		s, err := m.openSource(src.Source)
		if err != nil {
			closeStreams(streams)
			return nil, err
		}
		s.from, s.marked = src.lo, src.marked
		streams = append(streams, s)
	}
	return newMergedRun(m.ctx, streams, m.cfg.Compare, onClose), nil
}

func (m *merger) openSource(src Source) (*stream, error) {
	if s, ok := src.(streamSource); ok {
		return s.open(&m.mem)
	}
	run, err := src.Open()
	if err != nil {
		return nil, err
	}
	return &stream{ext: run}, nil
}

// pass merges the cheapest window of neighbouring files, and what is between them in memory, to a file that replaces
// them.
func (m *merger) pass(files []int, factor int) error {
	first, n := nextWindow(len(files), factor, func(i int) int64 {
		if s, ok := m.sources[files[i]].Source.(streamSource); ok {
			return s.size()
		}
		return 0
	})
	lo, hi := files[first], files[first+n-1]+1
	run, err := m.merged(m.sources[lo:hi], nil)
	if err != nil {
		return err
	}
	from := joined(m.sources, lo, hi)
	out, err := m.writeTemp(run, &from)
	if err = errors.Join(err, run.Close()); err != nil {
		return err
	}
	m.mem.recycle()
	m.sources = slices.Replace(m.sources, lo, hi, placed{out.Source(0), from})
	return nil
}

// writeTemp writes a run to a file that is removed with the merge.
func (m *merger) writeTemp(run *mergedRun, from *origin) (*Output, error) {
	m.nfiles++
	out, err := m.writeRun(run, from, filepath.Join(m.cfg.Dir, fmt.Sprintf("%s.pass-%04d", m.cfg.Name, m.nfiles)))
	if err == nil {
		m.temps = append(m.temps, out)
	}
	return out, err
}

// writeRun writes a run to a file of one partition: folded, marked, or combined. It decides whether from is marked.
func (m *merger) writeRun(run *mergedRun, from *origin, path string) (*Output, error) {
	bufs := newFrameBuffers(m.cfg.Pool, m.cfg.Compression)
	w, err := newSegmentWriter(m.ctx, m.cfg.FS, path, m.cfg.Name, m.cfg.Compression, 1, bufs)
	if err != nil {
		return nil, err
	}
	defer w.abandon()
	w.begin(0)
	if from.marked = from.marked && m.cfg.Fold == nil; from.marked {
		err = writeMarked(run, w)
	} else {
		err = m.merging().write(run, w, 0)
	}
	if err != nil {
		return nil, err
	}
	return w.output()
}

func (m *merger) merging() *merging {
	return &merging{cfg: m.cfg, combining: m.combining(), stats: &m.stats}
}

func (m *merger) combining() *combining {
	if m.cfg.Combine == nil {
		return nil
	}
	return &combining{name: m.cfg.Name, combine: m.cfg.Combine, compare: m.cfg.Compare, stats: &m.stats}
}

// close removes the files of passes and releases the memory. It may be called twice, as may everything that it
// calls.
func (m *merger) close() error {
	var errs []error
	for _, t := range m.temps {
		errs = append(errs, t.Release())
	}
	if m.acct != nil {
		m.mem.recycle()
		m.acct.close()
	}
	if m.after != nil {
		m.after()
	}
	return errors.Join(errs...)
}
