package shuffle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// IntakeConfig describes the reduce side's intake of segments.
type IntakeConfig struct {
	// Merge says where to spill and how to merge.
	Merge MergeConfig

	// Memory is the most bytes of segments that are held in memory. A segment of more than a quarter of it goes to
	// disk at once. Larger: less disk traffic. Zero means a quarter of the pool's budget (ours; Hadoop gives the
	// shuffle 70 % of a heap of its own).
	Memory int64
}

// validate fills in defaults.
func (c *IntakeConfig) validate() error {
	if err := c.Merge.validate(); err != nil {
		return err
	}
	if c.Memory < 0 {
		return fmt.Errorf("intake %q: memory of %d bytes", c.Merge.Name, c.Memory)
	}
	if c.Memory == 0 {
		c.Memory = c.Merge.Pool.limit / 4
	}
	return nil
}

// Intake collects the segments of one reduce attempt, from any number of fetching goroutines, and returns them as
// one sorted run. It checks segments as they arrive. When more than two thirds of its memory are used, it merges
// small segments to disk in the background. Large ones stay, and those for which there is no room go to disk on
// arrival. That saves a merge and makes only a few files.
//
// Call Take for each segment, again after an error; then Merge once; then Close. Records with equal keys come in the
// order of their maps, however segments arrive and whatever is merged early.
type Intake struct {
	cfg  IntakeConfig
	ctx  context.Context
	acct *account
	bg   sync.WaitGroup // merges; none begins once closed

	// mu guards the fields below. Merge and Close must not be called while a Take is under way. After they have set
	// closed and waited for bg, they are alone and use the fields without mu.
	mu      sync.Mutex
	taken   map[int]bool  // maps that are in or being taken
	memory  []*memSegment // not yet merged
	held    int64         // bytes of memory, merged ones included until they are freed
	files   []placed
	owned   []string // files to remove
	nfiles  int
	merging bool
	closed  bool
	bgErr   error
	stats   Stats

	lent atomic.Bool // an open run of Merge has records in memory
}

// memSegment is a segment in memory: stored records, decompressed.
type memSegment struct {
	from   uint32 // its map
	room   *room
	frames [][]byte
	bytes  int64
}

var _ streamSource = (*memSegment)(nil)

func (s *memSegment) Open() (Run, error) { return s.open(nil) }

func (s *memSegment) open(*carver) (*stream, error) {
	return &stream{feed: &rangeFeeder{s.frames}, plain: true, from: s.from}, nil
}

func (s *memSegment) need() int64 { return 0 }
func (s *memSegment) size() int64 { return s.bytes }

// NewIntake returns an empty intake. It waits for the memory of one segment writer.
func NewIntake(ctx context.Context, cfg IntakeConfig) (*Intake, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := cfg.Merge.Pool
	acct, err := p.join(ctx, frameBufferBytes(p, cfg.Merge.Compression), false)
	if err != nil {
		return nil, fmt.Errorf("intake %q: %w", cfg.Merge.Name, err)
	}
	acct.force(frameBufferBytes(p, cfg.Merge.Compression)) // the floor is the writer's
	return &Intake{cfg: cfg, ctx: ctx, acct: acct, taken: make(map[int]bool)}, nil
}

// Take fetches one segment. It may be called concurrently. After an error nothing of the segment is kept and it may
// be taken again. Errors say who is to blame: ErrCorrupt marks damaged or cut data, ErrScratch our own disk,
// ErrDuplicate a segment that is here already. Other errors come from Fetch.
func (in *Intake) Take(ctx context.Context, seg Segment) error {
	if err := seg.validate(); err != nil {
		return err
	}
	if err := in.begin(seg.Map); err != nil {
		return fmt.Errorf("take %s: %w", seg.Name, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(in.ctx, func() { cancel(context.Cause(in.ctx)) })()
	if err := in.take(ctx, &seg); err != nil {
		in.mu.Lock()
		delete(in.taken, seg.Map)
		in.mu.Unlock()
		return err
	}
	return nil
}

// begin claims a map.
func (in *Intake) begin(index int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
		return errors.New("intake is closed")
	case in.bgErr != nil:
		return in.bgErr
	case in.taken[index]:
		return ErrDuplicate
	}
	in.taken[index] = true
	return nil
}

func (in *Intake) take(ctx context.Context, seg *Segment) error {
	body, err := seg.Fetch(ctx)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", seg.Name, err)
	}
	defer body.Close() //nolint:errcheck // what was taken is whole and verified, and must not be taken again
	s := newSegmentStream(seg, &cancelReader{ctx: ctx, in: body})
	if seg.Info.Records == 0 {
		_, _, err := s.next()
		return err
	}
	if r := in.reserve(ctx, &seg.Info); r != nil {
		return in.toMemory(s, r)
	}
	return in.toDisk(s)
}

// reserve reserves memory for a segment, or returns nil if it must go to disk.
func (in *Intake) reserve(ctx context.Context, i *PartitionInfo) *room {
	n := i.RawBytes
	if n > in.cfg.Memory/4 {
		return nil
	}
	in.mu.Lock()
	fits := in.held+n <= in.cfg.Memory
	if fits {
		in.held += n
	}
	in.mu.Unlock()
	if !fits {
		return nil
	}
	r, ok := newRoom(ctx, in.acct, i)
	if !ok {
		in.mu.Lock()
		in.held -= n
		in.mu.Unlock()
		return nil
	}
	return r
}

// unreserve releases the memory of a segment of n bytes.
func (in *Intake) unreserve(n int64, r *room) {
	in.mu.Lock()
	in.held -= n
	in.mu.Unlock()
	r.free()
}

// newFile returns the name of a new scratch file.
func (in *Intake) newFile(kind string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.nfiles++
	return filepath.Join(in.cfg.Merge.Dir, fmt.Sprintf("%s.%s-%05d", in.cfg.Merge.Name, kind, in.nfiles))
}
