package jobs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// replayMemory is the most that a replay holds before it continues in a file, and 1/replayShare of the largest
// record, itself a part of the budget.
const (
	replayMemory = 8 << 20
	replayShare  = 4
)

// replay is a list of rows that is written once and read many times, in bounded memory: the first rows are in
// memory, the others in a temporary file that no longer has a name.
type replay struct {
	most int // bytes to hold
	rows int
	held []byte // uvarint length, bytes
	file *os.File
	w    *bufio.Writer
}

func (r *replay) add(row []byte) error {
	r.rows++
	if r.file == nil && len(r.held)+len(row) <= r.most {
		r.held = append(binary.AppendUvarint(r.held, uint64(len(row))), row...)
		return nil
	}
	if r.file == nil {
		if err := r.open(); err != nil {
			return err
		}
	}
	_, _ = r.w.Write(binary.AppendUvarint(nil, uint64(len(row))))
	if _, err := r.w.Write(row); err != nil {
		return fmt.Errorf("join: hold rows of one key: %w", err)
	}
	return nil
}

func (r *replay) open() error {
	f, err := os.CreateTemp("", "millrace-join-")
	if err != nil {
		return fmt.Errorf("join: hold rows of one key: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.w = f, bufio.NewWriterSize(f, 64<<10)
	return nil
}

// each calls fn for every row. The row is valid during the call.
func (r *replay) each(fn func(row []byte) error) error {
	for b := r.held; len(b) > 0; {
		n, k := binary.Uvarint(b)
		if err := fn(b[k : k+int(n)]); err != nil {
			return err
		}
		b = b[k+int(n):]
	}
	if r.file == nil {
		return nil
	}
	if err := r.w.Flush(); err != nil {
		return fmt.Errorf("join: hold rows of one key: %w", err)
	}
	return r.eachInFile(fn)
}

func (r *replay) eachInFile(fn func(row []byte) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(r.file, 0, 1<<62), 64<<10)
	var row []byte
	for {
		n, err := binary.ReadUvarint(in)
		if err == io.EOF { //nolint:errorlint // once for every row, and binary returns it bare
			return nil
		}
		if err != nil {
			return fmt.Errorf("join: read held rows: %w", err)
		}
		row = append(row[:0], make([]byte, n)...)
		if _, err := io.ReadFull(in, row); err != nil {
			return fmt.Errorf("join: read held rows: %w", err)
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

// reset empties the list and closes the file.
func (r *replay) reset() {
	if r.file != nil {
		_ = r.file.Close()
	}
	*r = replay{most: r.most, held: r.held[:0]}
}
