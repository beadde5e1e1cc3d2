package shuffle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// OutputSuffix is the suffix of a finished output's file. [Config.Name] is its prefix.
const OutputSuffix = ".seg"

// Output is finished map output: kept in memory, or one segment file. Its methods
// may be called concurrently.
type Output struct {
	fs    FS
	path  string // of the file, existing or to be
	name  string
	codec Compression
	tag   uint32
	sum   uint64

	memBytes int64        // held by mem; fixed once the pool knows the output
	inMemory atomic.Bool  // mem is the output
	readers  atomic.Int32 // streams over mem; changed with mu held

	// mu guards the fields below. The runs of a collector were never in memory, so nothing changes their infos and
	// frame, and it reads these without mu. See Pool.spillMu for the lock order.
	mu       sync.Mutex
	infos    []PartitionInfo // of the file, or of the memory; their number does not change
	frame    int             // size of the file's frames
	mem      *memory
	file     File // open while refs > 0
	refs     int  // runs and serving readers of the file
	released bool
}

// memory is an output in memory: a sorted batch or packed ranges.
type memory struct {
	pool    *Pool
	acct    *account
	batch   *batch
	packed  *packed
	dropped bool // free it when the last reader is gone
}

var errReleased = errors.New("output is released")

// OpenOutput opens a finished segment file. It finds damage to the file's description; damage to records is found
// when they are read. Both errors name the file.
func OpenOutput(path string) (*Output, error) { return OpenOutputIn(osFS{}, path) }

// OpenOutputIn is OpenOutput for any file system.
func OpenOutputIn(fs FS, path string) (*Output, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, scratchErr("open", path, err)
	}
	defer file.Close() //nolint:errcheck // read only
	size, err := file.Size()
	if err != nil {
		return nil, scratchErr("stat", path, err)
	}
	foot, err := readFooter(file, size)
	if err != nil && !errors.Is(err, ErrScratch) {
		err = fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return fileOutput(fs, path, foot), nil
}

func fileOutput(fs FS, path string, foot *footer) *Output {
	return &Output{fs: fs, path: path, codec: foot.codec, infos: foot.partitions, frame: int(foot.frame), tag: foot.tag, sum: foot.sum}
}

// output finishes the file, and is what it holds.
func (w *segmentWriter) output() (*Output, error) {
	foot, err := w.finish()
	if err != nil {
		return nil, err
	}
	return fileOutput(w.fs, w.path, foot), nil
}

// Partitions returns the number of partitions.
func (o *Output) Partitions() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.infos)
}

// Tag marks every frame of this output; a fetcher checks it, see Segment.
func (o *Output) Tag() uint32 { return o.tag }

// Sum returns a hash of the records in their order, whatever spills, frames and compression they went through.
// Outputs with different sums differ. It is 0 for an output in memory and for one opened by OpenOutput.
func (o *Output) Sum() uint64 { return o.sum }

// Info describes partition p.
func (o *Output) Info(p int) PartitionInfo {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.infos[p]
}

// Path returns the file, or "" while the output is in memory.
func (o *Output) Path() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mem != nil {
		return ""
	}
	return o.path
}

// Source returns partition p as a source of a merge.
func (o *Output) Source(p int) Source { return outputSource{o, p} }

type outputSource struct {
	out       *Output
	partition int
}

var _ streamSource = outputSource{}

func (s outputSource) Open() (Run, error) { return s.out.Open(s.partition) }

func (s outputSource) open(mem *carver) (*stream, error) { return s.out.open(s.partition, mem) }

func (s outputSource) need() int64 { return s.out.bufferBytes() }

func (s outputSource) size() int64 { return s.out.Info(s.partition).StoredBytes }

// bufferBytes returns the memory needed to read one partition.
func (o *Output) bufferBytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mem != nil:
		return 0
	case o.codec == None:
		return int64(o.frame)
	}
	return 2 * int64(o.frame)
}

// Open returns the sorted records of one partition.
func (o *Output) Open(p int) (Run, error) {
	if p < 0 || p >= o.Partitions() {
		return nil, fmt.Errorf("output %s has no partition %d", o.path, p)
	}
	s, err := o.open(p, &carver{})
	if err != nil {
		return nil, err
	}
	return newMergedRun(context.Background(), []*stream{s}, nil, nil), nil
}

func (o *Output) open(p int, mem *carver) (*stream, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.released {
		return nil, fmt.Errorf("open %s: %w", o.path, errReleased)
	}
	if o.mem != nil {
		return o.mem.stream(o, p), nil
	}
	if err := o.retainLocked(); err != nil {
		return nil, err
	}
	r := o.reader(p, mem.get(o.frame), mem)
	r.onDone = o.releaseFile
	return &stream{feed: r}, nil
}

// reader reads partition p of the open file through a buffer. o.mu must be held, or o is a run.
func (o *Output) reader(p int, buf []byte, mem *carver) *frameReader {
	info := o.infos[p]
	return &frameReader{
		src: o.file, off: info.Offset, end: info.Offset + info.StoredBytes, left: info.Records, buf: buf, mem: mem,
		chain: chain{file: o.path, tag: o.tag, partition: uint32(p)},
	}
}

// retainLocked opens the file, or counts one more user of it. o.mu must be held.
func (o *Output) retainLocked() error {
	if o.refs == 0 {
		file, err := o.fs.Open(o.path)
		if err != nil {
			return scratchErr("open", o.path, err)
		}
		o.file = file
	}
	o.refs++
	return nil
}

// releaseFile closes the file when its last user is gone.
func (o *Output) releaseFile() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refs--; o.refs > 0 {
		return nil
	}
	err := o.file.Close()
	o.file = nil
	if err != nil {
		return scratchErr("close", o.path, err)
	}
	return nil
}

// Release frees the memory or removes the file. Open runs can still be read to their end. It may be called twice.
func (o *Output) Release() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.released {
		return nil
	}
	o.released = true
	if o.mem != nil {
		o.dropMemory()
		return nil
	}
	if err := o.fs.Remove(o.path); err != nil {
		return scratchErr("remove", o.path, err)
	}
	return nil
}
