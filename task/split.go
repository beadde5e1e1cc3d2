package task

import (
	"fmt"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

// A Split is the input of one map task: a range of a large file, or many small
// files together.
type Split struct {
	Input  int      `json:"input"` // which of the job's inputs
	Ranges []Range  `json:"ranges"`
	Hosts  []string `json:"hosts,omitempty"` // that hold a copy
}

// A Range is a part of a file.
type Range struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// Bytes returns the length of the split.
func (s Split) Bytes() (n int64) {
	for _, r := range s.Ranges {
		n += r.Length
	}
	return n
}

// maxFilesPerSplit bounds how many small files share a split.
const maxFilesPerSplit = 4096

// splitter divides the files of one input.
type splitter struct {
	store  storage.Mux
	input  int
	format mapreduce.InputFormat
	target int64
	gather bool // blocks of one host make a split, even if they are not adjacent in the file

	out   []Split
	small Split // collects small files
	held  int64 // bytes in small
}

func (s *splitter) add(e storage.Entry) error {
	if e.Size == 0 && s.format != mapreduce.WholeFile { // for which it is one record
		return nil
	}
	if e.Size > s.target {
		splittable, err := s.splittable(e.Path, e.Version)
		if err != nil {
			return err
		}
		if splittable {
			s.flush() // keeps tasks, and so the parts of a map-only job, in the order of the files
			return s.cut(e)
		}
	}
	if s.held+e.Size > s.target || len(s.small.Ranges) >= maxFilesPerSplit {
		s.flush()
	}
	s.small.Ranges = append(s.small.Ranges, Range{e.Path, 0, e.Size})
	s.held += e.Size
	return nil
}

func (s *splitter) flush() {
	if len(s.small.Ranges) > 0 {
		s.small.Input = s.input
		s.out = append(s.out, s.small)
	}
	s.small, s.held = Split{}, 0
}

// cut divides a large file into even pieces of about the target size, or at the ends of its blocks.
func (s *splitter) cut(e storage.Entry) error {
	store, inner, err := s.store.Resolve(e.Path)
	if err != nil {
		return err
	}
	if locator, ok := store.(storage.Locator); ok {
		return s.cutBlocks(locator, inner, e)
	}
	n := (e.Size + s.target - 1) / s.target
	for i := range n {
		from, to := e.Size/n*i, e.Size/n*(i+1)
		if i == n-1 {
			to = e.Size
		}
		s.out = append(s.out, Split{Input: s.input, Ranges: []Range{{e.Path, from, to - from}}})
	}
	return nil
}

func (s *splitter) splittable(path, version string) (bool, error) {
	f, err := openInput(s.store, path, version)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, min(mapreduce.HeadBytes, f.Size()))
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return false, fmt.Errorf("input %q: read its first bytes: %w", path, err)
	}
	return s.format.Splittable(head), nil
}

func openInput(store storage.Mux, p, version string) (storage.File, error) {
	fs, inner, err := store.Resolve(p)
	if err != nil {
		return nil, err
	}
	f, err := storage.OpenVersion(fs, inner, version)
	if err != nil {
		return nil, fmt.Errorf("input %q: %w", p, err)
	}
	return f, nil
}

func formatOf(m mapreduce.Map) mapreduce.InputFormat {
	if m.Format == nil {
		return mapreduce.Text
	}
	return m.Format
}
