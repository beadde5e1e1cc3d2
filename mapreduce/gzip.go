package mapreduce

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// members reads the members of a gzip or zlib file one after another, since such a file may be several that were
// concatenated. Zeros behind the last member of gzip are padding, as on tapes and in some uploads; gzip itself
// ignores them, too.
type members struct {
	in     *bufio.Reader
	z      io.ReadCloser
	again  func() error // begins the next member
	padded bool
}

func newMembers(r io.Reader) (*members, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{in: in, z: z, padded: true, again: func() error {
		if err := z.Reset(in); err != nil {
			return err
		}
		z.Multistream(false)
		return nil
	}}, nil
}

func newZlibs(r io.Reader) (*members, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, err
	}
	return &members{in: in, z: z, again: func() error { return z.(zlib.Resetter).Reset(in, nil) }}, nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil // the next call finds what is behind it
			}
			return n, err
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
}

// next begins the next member, or returns io.EOF if there is none.
func (m *members) next() error {
	for {
		b, err := m.in.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 || !m.padded {
			break
		}
	}
	if err := m.in.UnreadByte(); err != nil {
		return err
	}
	err := m.again()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the member has begun
	}
	return err
}

func (m *members) Close() error { return m.z.Close() }
