package journal

import (
	"encoding/binary"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// fenced is small with a fence that lets everybody.
func fenced() Config {
	cfg := small
	cfg.Fence = func() error { return nil }
	return cfg
}

// TestTakeOver: who opens a journal that another process may still have open leaves the file of that one, and what the other writes into
// it from then on is nobody's record. An empty last file is made anew in its place, so that opening again and again adds none.
func TestTakeOver(t *testing.T) {
	m := memdisk.New()
	old := open(t, m, fenced())
	fill(t, old, 1, 3)
	taken := open(t, m, fenced())
	if got := taken.Segments(); got != 2 {
		t.Errorf("%d files after taking over, want 2", got)
	}
	if _, err := old.Commit([]byte("nobody's")); err != nil { // its fence does not know yet
		t.Fatal(err)
	}
	fill(t, taken, 4, 5)
	must(t, old.Close())
	must(t, taken.Close())
	for range 3 {
		j, got, err := reopen(m, fenced(), 1)
		must(t, err)
		check(t, got, 1, 5)
		if n := j.Segments(); n != 3 {
			t.Errorf("%d files, want 3", n)
		}
		must(t, j.Close())
	}
	j, got, err := reopen(m, small, 1)
	must(t, err)
	check(t, got, 1, 5)
	fill(t, j, 6, 7)
	must(t, j.Close())
}

// TestTakeOverOfAFullDisk: where there is no room for another file the old one goes on; what fails otherwise is told.
func TestTakeOverOfAFullDisk(t *testing.T) {
	for _, fail := range []error{syscall.ENOSPC, syscall.EIO} {
		m := memdisk.New()
		j := open(t, m, small)
		fill(t, j, 1, 3)
		must(t, j.Close())
		before := j.Segments()
		m.SetFail(func(op, name string, _ int) error {
			if op == "create" && strings.HasSuffix(name, ".new") {
				return fail
			}
			return nil
		})
		j, got, err := reopen(m, fenced(), 1)
		if errors.Is(fail, syscall.EIO) {
			if !errors.Is(err, fail) {
				t.Errorf("%v", err)
			}
			continue
		}
		must(t, err)
		check(t, got, 1, 3)
		if n := j.Segments(); n != before {
			t.Errorf("%d files, want %d", n, before)
		}
		fill(t, j, 4, 4)
		must(t, j.Close())
	}
}

// TestHeaders: a file whose header is not that of its name is refused, with what is wrong and where; a repair keeps all that was before it.
func TestHeaders(t *testing.T) {
	resum := func(data []byte) []byte {
		binary.LittleEndian.PutUint32(data[28:], codec.Sum(data[:28]))
		return data
	}
	for _, tt := range []struct {
		change func(data []byte) []byte
		want   string
		kind   wire.Kind
	}{
		{func(data []byte) []byte { data[0]++; return data }, "offset 0: this is not the header of a journal file", wire.Corrupt},
		{func(data []byte) []byte { data[20]++; return data }, "offset 0: the header's checksum is wrong", wire.Corrupt},
		{func(data []byte) []byte { data[16]++; return resum(data) }, "offset 16: begins with record", wire.Corrupt},
		{func(data []byte) []byte { data[8] = 7; return resum(data) }, "is of version 7; this program knows version", wire.Invalid},
		{func(data []byte) []byte { return data[:headerLen-1] }, "not the header", wire.Corrupt},
	} {
		m := memdisk.New()
		j := open(t, m, small)
		fill(t, j, 1, 40)
		must(t, j.Close())
		segs, err := segments(m, "j")
		must(t, err)
		put(t, m, segs[1].name, tt.change(get(t, m, segs[1].name)))
		if _, _, err := reopen(m, small, 1); wire.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), segs[1].name) {
			t.Errorf("%v, want %q", err, tt.want)
		}
		l, err := Repair(m, "j")
		must(t, err)
		if l == nil || l.Offset != 0 || l.Kept != segs[1].first-1 || !strings.Contains(l.Why, tt.want) || len(l.Later) != len(segs)-2 {
			t.Errorf("%+v, want %q", l, tt.want)
		}
		j, got, err := reopen(m, small, 1)
		must(t, err)
		check(t, got, 1, int(segs[1].first)-1)
		must(t, j.Close())
	}
}

// TestWhatIsLeftOfAFailure: a journal that failed says so to who asks for room; a file that cannot be dropped is told of, and stays; one
// without files has nothing to scan.
func TestWhatIsLeftOfAFailure(t *testing.T) {
	m := memdisk.New()
	j := open(t, m, small)
	fill(t, j, 1, 40)
	must(t, j.Room())
	n, size := j.Segments(), j.Bytes()
	m.SetFail(func(op, _ string, _ int) error {
		if op == "remove" || op == "sync" {
			return syscall.EIO
		}
		return nil
	})
	if err := j.DropBefore(40); !errors.Is(err, syscall.EIO) || j.Segments() != n || j.Bytes() != size {
		t.Errorf("%v: %d of %d files, %d of %d bytes", err, j.Segments(), n, j.Bytes(), size)
	}
	if _, err := j.Commit([]byte("x")); err == nil {
		t.Error("a record whose sync failed was acknowledged")
	}
	if err := j.Room(); err == nil || !strings.Contains(err.Error(), "failed and must be opened again") {
		t.Errorf("room: %v", err)
	}
	m.SetFail(nil)
	must(t, j.DropBefore(20))
	if j.Segments() >= n || j.Bytes() >= size {
		t.Errorf("%d files of %d bytes are left", j.Segments(), j.Bytes())
	}
	first, err := j.Scan(1, 40, func(seq uint64, _ []byte) error {
		if seq < 10 {
			t.Errorf("record %d was dropped", seq)
		}
		return nil
	})
	if err != nil || first < 10 || first > 20 {
		t.Errorf("begins with %d, %v", first, err)
	}
	m.SetFail(func(op, _ string, _ int) error {
		if op == "read" {
			return syscall.EIO
		}
		return nil
	})
	if _, err := j.Scan(1, 40, func(uint64, []byte) error { return nil }); !errors.Is(err, syscall.EIO) {
		t.Errorf("a scan of what cannot be read: %v", err)
	}
}
