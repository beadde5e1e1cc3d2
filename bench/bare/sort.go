package bare

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// The records are those of the Sort Benchmark: 100 bytes, the first 10 are the key.
const (
	recordBytes = 100
	bucketBits  = 16
	buckets     = 1 << bucketBits
	// blockRows is how many records a goroutine reads or writes at a time.
	blockRows = 10_000
)

// row stands for a record in the sort: its key and its place in the input.
type row struct {
	prefix uint64 // the first eight bytes of the key
	suffix uint16 // the last two
	index  uint32
}

// Sort sorts the 100-byte records of the file in by their keys, all in memory.
// Records with equal keys stay in the order of the input.
func Sort(in, out string, procs int) error {
	f, size, err := openInput(in)
	if err != nil {
		return err
	}
	defer f.Close()
	if size%recordBytes != 0 || size/recordBytes > math.MaxUint32 {
		return fmt.Errorf("sort %s: %d bytes are not up to 2^32 records of %d", in, size, recordBytes)
	}
	s := &sorter{data: make([]byte, size), procs: max(1, procs)}
	if err := s.load(f); err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	s.distribute()
	return writeOutput(out, s.write)
}

// sorter works in three steps, each on all goroutines: load reads the data and notes the rows, distribute puts them
// into buckets by the first 16 bits of the key, write sorts the buckets and gathers their records.
type sorter struct {
	data  []byte
	procs int
	parts []part   // the rows as each goroutine of load noted them
	rows  []row    // all rows, bucket by bucket
	first []uint32 // where bucket i starts in rows; first[buckets] is the end
}

type part struct {
	rows   []row
	counts []uint32 // rows in each bucket, later the place of the next one
}

// load gives each goroutine one share of the file, so that parts are in input order.
func (s *sorter) load(f *os.File) error {
	total := len(s.data) / recordBytes
	s.parts = make([]part, s.procs)
	var group errgroup.Group
	for i := range s.parts {
		from, to := total*i/s.procs, total*(i+1)/s.procs
		s.parts[i] = part{rows: make([]row, 0, to-from), counts: make([]uint32, buckets)}
		group.Go(func() error { return s.loadPart(f, &s.parts[i], from, to) })
	}
	return group.Wait()
}

// loadPart notes the rows of each block while it is in the cache.
func (s *sorter) loadPart(f *os.File, p *part, from, to int) error {
	for at := from; at < to; at += blockRows {
		end := min(at+blockRows, to)
		block := s.data[at*recordBytes : end*recordBytes]
		if n, err := f.ReadAt(block, int64(at)*recordBytes); n < len(block) {
			return fmt.Errorf("read %s: %w", f.Name(), err)
		}
		for i := at; i < end; i++ {
			key := s.record(uint32(i))
			r := row{binary.BigEndian.Uint64(key), binary.BigEndian.Uint16(key[8:]), uint32(i)}
			p.counts[r.prefix>>(64-bucketBits)]++
			p.rows = append(p.rows, r)
		}
	}
	return nil
}

func (s *sorter) record(i uint32) []byte { return s.data[int(i)*recordBytes:][:recordBytes] }

// distribute turns the counts into places, bucket by bucket and part by part
// within a bucket, and lets each goroutine put its rows there.
func (s *sorter) distribute() {
	s.first = make([]uint32, buckets+1)
	place := uint32(0)
	for b := range buckets {
		s.first[b] = place
		for i := range s.parts {
			n := s.parts[i].counts[b]
			s.parts[i].counts[b] = place
			place += n
		}
	}
	s.first[buckets] = place
	s.rows = make([]row, place)
	var group errgroup.Group
	for i := range s.parts {
		group.Go(func() error { s.scatter(&s.parts[i]); return nil })
	}
	_ = group.Wait() // scatter cannot fail
	s.parts = nil
}

func (s *sorter) scatter(p *part) {
	for _, r := range p.rows {
		next := &p.counts[r.prefix>>(64-bucketBits)]
		s.rows[*next] = r
		*next++
	}
}

// write sorts and writes groups of whole buckets, as many as make a block.
func (s *sorter) write(f *os.File) error {
	if err := f.Truncate(int64(len(s.data))); err != nil {
		return err
	}
	groups := s.groups()
	var next atomic.Int64
	var group errgroup.Group
	for range s.procs {
		group.Go(func() error {
			var g gatherer
			for {
				i := next.Add(1) - 1
				if i >= int64(len(groups)-1) {
					return nil
				}
				if err := g.write(s, f, groups[i], groups[i+1]); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// groups returns bucket numbers between which there are about blockRows rows.
func (s *sorter) groups() []int {
	bounds := []int{0}
	for b := 1; b <= buckets; b++ {
		if b == buckets || s.first[b]-s.first[bounds[len(bounds)-1]] >= blockRows {
			bounds = append(bounds, b)
		}
	}
	return bounds
}

// gatherer is the memory of one goroutine of write.
type gatherer struct {
	block   []byte // records on their way to the file
	buckets bucketSorter
}

// write sorts the buckets [from, to) and writes their records.
func (g *gatherer) write(s *sorter, f *os.File, from, to int) error {
	for b := from; b < to; b++ {
		g.buckets.sort(s.rows[s.first[b]:s.first[b+1]])
	}
	start := s.first[from]
	rows := s.rows[start:s.first[to]]
	for len(rows) > 0 {
		n := min(len(rows), 2*blockRows)
		g.block = g.block[:0]
		for _, r := range rows[:n] {
			g.block = append(g.block, s.record(r.index)...)
		}
		if _, err := f.WriteAt(g.block, int64(start)*recordBytes); err != nil {
			return err
		}
		rows, start = rows[n:], start+uint32(n)
	}
	return nil
}
