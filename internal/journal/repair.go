package journal

import (
	"fmt"
	"path"
	"strings"

	"github.com/millrace/millrace/internal/disk"
)

// A Loss says what is wrong with a journal and what a repair would lose.
type Loss struct {
	File   string // the damaged file
	Offset int64
	Why    string
	Kept   uint64   // the last record that stays; 0: none
	Whole  int      // later whole records that would also be lost
	Bytes  int64    // in the damaged file from Offset on, and in all later files
	Later  []string // files behind the damaged one
}

// String explains the loss to whoever must decide about a repair.
func (l *Loss) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is damaged at offset %d: %s.\n", l.File, l.Offset, l.Why)
	fmt.Fprintf(&b, "A repair keeps all records up to number %d and gives up %d bytes behind them", l.Kept, l.Bytes)
	fmt.Fprintf(&b, ", among them %d records that are whole.\n", l.Whole)
	b.WriteString("The damaged file is copied to " + l.File + ".damaged first")
	if len(l.Later) > 0 {
		fmt.Fprintf(&b, "; %s become .lost files", strings.Join(l.Later, ", "))
	}
	b.WriteString(".")
	return b.String()
}

// Inspect returns the first damage that Open would refuse, or nil. It changes nothing. The journal must not be open.
func Inspect(fsys disk.FS, dir string) (*Loss, error) {
	segs, err := segments(fsys, dir)
	if err != nil {
		return nil, err
	}
	for i, seg := range segs {
		data, err := readAll(fsys, seg.name)
		if err != nil {
			return nil, err
		}
		at, next, why := inspect(seg, data, endOf(segs, i))
		if why == "" && i+1 < len(segs) && segs[i+1].first != next {
			why = fmt.Sprintf("records %d to %d are missing behind it", next, segs[i+1].first-1)
		}
		if why != "" {
			return loss(fsys, seg, data, at, next, why, segs[i+1:])
		}
	}
	return nil, nil
}

// inspect returns where a segment stops being whole, and why that is damage.
func inspect(seg segment, data []byte, end uint64) (at int, next uint64, why string) {
	at, next, err := walk(seg, data, end, func(record) error { return nil })
	if err != nil {
		return 0, seg.first, err.Error()
	}
	if at == len(data) || next == end {
		return at, next, ""
	}
	why, bad := damaged(data, at, next)
	if !bad && end != noEnd {
		why = "the file ends in the middle of a record, but is not the last"
	}
	return at, next, why
}

// loss counts what is behind the damage.
func loss(fsys disk.FS, seg segment, data []byte, at int, next uint64, why string, later []segment) (*Loss, error) {
	l := &Loss{File: seg.name, Offset: int64(at), Why: why, Kept: next - 1, Bytes: int64(len(data) - at)}
	l.Whole = countWhole(data, at, next)
	for _, s := range later {
		data, err := readAll(fsys, s.name)
		if err != nil {
			return nil, err
		}
		l.Later = append(l.Later, s.name)
		l.Bytes += int64(len(data))
		l.Whole += countWhole(data, 0, s.first-1)
	}
	return l, nil
}

func countWhole(data []byte, at int, after uint64) (n int) {
	for {
		f, ok := findLater(data, at, after)
		if !ok {
			return n
		}
		n++
		at, after = f.at+f.rec.len, f.rec.seq
	}
}

// Repair cuts a damaged journal at its damage and returns what was lost, or nil if it was not damaged. Copies of
// everything that is cut remain beside it.
func Repair(fsys disk.FS, dir string) (*Loss, error) {
	l, err := Inspect(fsys, dir)
	if l == nil || err != nil {
		return nil, err
	}
	for i := len(l.Later) - 1; i >= 0; i-- { // last one first, so that a power cut leaves a journal without gaps
		if err := fsys.Rename(l.Later[i], l.Later[i]+".lost"); err != nil {
			return nil, err
		}
		if err := fsys.SyncDir(dir); err != nil {
			return nil, err
		}
	}
	if err := setAside(fsys, l.File); err != nil {
		return nil, err
	}
	if l.Offset < headerLen {
		err = fsys.Remove(l.File)
	} else {
		err = cut(fsys, l.File, l.Offset)
	}
	if err != nil {
		return nil, err
	}
	return l, fsys.SyncDir(dir)
}

// setAside copies a file.
func setAside(fsys disk.FS, name string) error {
	data, err := readAll(fsys, name)
	if err != nil {
		return err
	}
	if _, err := fsys.Stat(name + ".damaged"); err == nil {
		if err := fsys.Remove(name + ".damaged"); err != nil {
			return err
		}
	}
	f, err := writeFile(fsys, name+".damaged", data)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

func cut(fsys disk.FS, name string, size int64) error {
	f, err := fsys.Edit(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

func readAll(fsys disk.FS, name string) ([]byte, error) {
	f, data, err := readSegment(fsys, name)
	if err != nil {
		return nil, err
	}
	return data, f.Close()
}
