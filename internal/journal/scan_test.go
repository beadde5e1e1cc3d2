package journal

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// TestAnyRange: a scan of any range gives its records that are still there, each once and in order, and says where it began, before and after some were
// dropped; and a drop leaves just the files that hold a record from there on.
func TestAnyRange(t *testing.T) {
	m := memdisk.New()
	j := open(t, m, small)
	fill(t, j, 1, 40)
	for _, before := range []uint64{0, 1, 9, 20, 21, 22, 23, 40} {
		segs := j.segs
		for len(segs) > 1 && segs[1].first <= before {
			segs = segs[1:]
		}
		must(t, j.DropBefore(before))
		oldest := segs[0].first
		if first, err := First(m, "j"); err != nil || first != oldest || j.Segments() != len(segs) || oldest > max(before, 1) {
			t.Fatalf("dropped before %d: %d files from record %d on, want %d from %d: %v", before, j.Segments(), first, len(segs), oldest, err)
		}
		for from := uint64(1); from <= 41; from++ {
			for to := from - 1; to <= 40; to++ {
				next := max(from, oldest)
				first, err := j.Scan(from, to, func(seq uint64, payload []byte) error {
					if seq != next || string(payload) != text(int(seq)) {
						return fmt.Errorf("record %d is %q, want %d", seq, payload, next)
					}
					next++
					return nil
				})
				if want := max(from, oldest); err != nil || first != want || next != max(want, to+1) {
					t.Fatalf("%d to %d: from %d to before %d, %v", from, to, first, next, err)
				}
			}
		}
	}
	stop := errors.New("enough")
	if _, err := j.Scan(39, 40, func(uint64, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a reader that wants no more: %v", err)
	}
	var size int64
	for _, s := range j.segs {
		size += int64(len(get(t, m, s.name)))
	}
	if got := j.Bytes(); got != size {
		t.Errorf("%d bytes of files, says %d", size, got)
	}
	must(t, j.Close())
}

// TestCutInTheMiddle: a file that ends in the middle of a record is damaged if it is not the last. That is found, said, and mended, and what is lost is
// counted with all that lies behind it.
func TestCutInTheMiddle(t *testing.T) {
	for _, whole := range []bool{false, true} {
		m := memdisk.New()
		j := open(t, m, small)
		fill(t, j, 1, 30)
		must(t, j.Close())
		segs, err := segments(m, "j")
		must(t, err)
		data := get(t, m, segs[1].name)
		end, why := len(data)-3, "the file ends in the middle of a record, but is not the last"
		if whole { // all of its last one
			at, _, err := walk(segs[1], data, segs[2].first-1, func(record) error { return nil })
			must(t, err)
			end, why = at, fmt.Sprintf("records %d to %d are missing behind it", segs[2].first-1, segs[2].first-1)
		}
		put(t, m, segs[1].name, data[:end])
		if _, _, err := reopen(m, small, 1); !errors.Is(err, wire.Corrupt) {
			t.Errorf("opened: %v", err)
		}
		l, err := Repair(m, "j")
		must(t, err)
		if l == nil || l.Why != why || l.Kept != segs[2].first-2 || l.Whole != 30-int(segs[2].first)+1 || len(l.Later) != len(segs)-2 {
			t.Fatalf("%+v, want %q", l, why)
		}
		if got := l.String(); !strings.HasSuffix(got, strings.Join(l.Later, ", ")+" become .lost files.") || strings.Contains(got, "first.") {
			t.Errorf("it says %s", got)
		}
		j, got, err := reopen(m, small, 1)
		must(t, err)
		check(t, got, 1, int(l.Kept))
		must(t, j.Close())
	}
}

// TestReserveHoldsABatch: however small a reserve is asked for, it holds what may wait for the disk.
func TestReserveHoldsABatch(t *testing.T) {
	c, err := Config{ReserveBytes: 1, MaxBatch: 1000, MaxRecord: 100}.withDefaults()
	if err != nil || c.ReserveBytes < 1100 {
		t.Errorf("%d bytes, %v", c.ReserveBytes, err)
	}
	for _, c := range []Config{{SegmentBytes: headerLen - 1}, {MaxRecord: maxLength + 1}, {MaxBatch: -1}, {ReserveBytes: -1}} {
		if _, err := c.withDefaults(); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	for _, c := range []Config{{SegmentBytes: headerLen}, {MaxRecord: maxLength}, {MaxBatch: 1, MaxRecord: 1, ReserveBytes: 1}} {
		if _, err := c.withDefaults(); err != nil {
			t.Error(err)
		}
	}
}
