package mapreduce

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// members reads the members of a gzip file one after the other. Zeros behind the last one are padding, as tapes and some
// uploads have it; gzip itself ignores them too.
type members struct {
	in *bufio.Reader
	z  *gzip.Reader
}

func newMembers(r io.Reader) (*members, error) {
	m := &members{in: bufio.NewReaderSize(r, 64<<10)}
	var err error
	if m.z, err = gzip.NewReader(m.in); err != nil {
		return nil, err
	}
	m.z.Multistream(false)
	return m, nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil // what is behind it the next call sees
			}
			return n, err
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
}

// next begins the next member, or says that there is none.
func (m *members) next() error {
	for {
		b, err := m.in.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			break
		}
	}
	if err := m.in.UnreadByte(); err != nil {
		return err
	}
	if err := m.z.Reset(m.in); err != nil {
		return err
	}
	m.z.Multistream(false)
	return nil
}

func (m *members) Close() error { return m.z.Close() }
