package journal

import (
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/disk/memdisk"
)

// hurt is a disk with a journal whose third file of several is damaged at its first record, the number of the last record before
// it, and a file that was being made when the power went. Everything is durable.
func hurt(t *testing.T) (m *memdisk.FS, kept int) {
	t.Helper()
	m = memdisk.New()
	j := open(t, m, small)
	fill(t, j, 1, 60)
	must(t, j.Close())
	segs, err := segments(m, "j")
	must(t, err)
	data := get(t, m, segs[2].name)
	data[headerLen+30] ^= 1
	put(t, m, segs[2].name, data)
	put(t, m, "j/"+segmentName(99)+".new", []byte("half"))
	return m, int(segs[2].first) - 1
}

// failing fails one operation after the other of what do does on a disk that fresh makes, and hands the disk over as it is then, and
// as a power cut may leave it. An operation that fails must be told of.
func failing(t *testing.T, fresh func() *memdisk.FS, do func(m *memdisk.FS) error, after func(m *memdisk.FS)) {
	t.Helper()
	for k := 1; ; k++ {
		m, failed := fresh(), ""
		at := m.Ops() + k
		m.SetFail(func(op, name string, n int) error {
			if n == at {
				failed = op + " " + name
				return syscall.EIO
			}
			return nil
		})
		err := do(m)
		m.SetFail(nil)
		if failed == "" {
			must(t, err)
			return
		}
		if !errors.Is(err, syscall.EIO) && !strings.HasPrefix(failed, "stat ") { // what is not there needs no making room
			t.Errorf("%s failed, and that was not told: %v", failed, err)
		}
		after(m)
		after(m.Crash(rand.New(rand.NewPCG(uint64(k), 3))))
	}
}

// TestFailedRepair: whatever fails during a repair is told, and the journal has a beginning of its records still, without gaps; a
// repair that is tried again ends what the first began.
func TestFailedRepair(t *testing.T) {
	kept := 0
	repair := func(m *memdisk.FS) error {
		_, err := Repair(m, "j")
		return err
	}
	broken := func() (m *memdisk.FS) {
		m, kept = hurt(t)
		return m
	}
	failing(t, broken, repair, func(m *memdisk.FS) {
		must(t, repair(m))
		j, got, err := reopen(m, small, 1)
		must(t, err)
		check(t, got, 1, kept)
		must(t, j.Close())
	})
}

// TestFailedLooks: who asks for the first record or for damage hears of a disk that cannot be read, and changes nothing.
func TestFailedLooks(t *testing.T) {
	broken := func() *memdisk.FS {
		m, _ := hurt(t)
		return m
	}
	same := func(m *memdisk.FS) {
		if first, err := First(m, "j"); first != 1 || err != nil {
			t.Errorf("begins with %d, %v", first, err)
		}
		if l, err := Inspect(m, "j"); l == nil || err != nil {
			t.Errorf("%v, %v", l, err)
		}
	}
	failing(t, broken, func(m *memdisk.FS) error {
		first, err := First(m, "j")
		if err != nil && first != 0 {
			t.Errorf("begins with %d, %v", first, err)
		}
		return err
	}, same)
	failing(t, broken, func(m *memdisk.FS) error {
		l, err := Inspect(m, "j")
		if err != nil && l != nil {
			t.Errorf("%v, %v", l, err)
		}
		return err
	}, same)
	if first, err := First(memdisk.New(), "j"); err == nil || first != 0 {
		t.Errorf("without a directory: %d, %v", first, err)
	}
}

// TestLeftovers: files that were being made when the power went are swept up where a journal is opened; one that cannot be is told of.
func TestLeftovers(t *testing.T) {
	fresh := func() *memdisk.FS {
		m := memdisk.New()
		j := open(t, m, small)
		fill(t, j, 1, 20)
		must(t, j.Close())
		put(t, m, "j/"+segmentName(99)+".new", []byte("half"))
		put(t, m, "j/reserve.new", []byte("half"))
		return m
	}
	m := fresh()
	m.SetFail(func(op, name string, _ int) error {
		if op == "remove" && strings.HasSuffix(name, ".new") {
			return syscall.EIO
		}
		return nil
	})
	if _, _, err := reopen(m, small, 1); !errors.Is(err, syscall.EIO) {
		t.Errorf("opened beside what cannot be swept up: %v", err)
	}
	m = fresh()
	j, got, err := reopen(m, small, 1)
	must(t, err)
	check(t, got, 1, 20)
	must(t, j.Close())
	names, err := m.ReadDir("j")
	must(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".new") {
			t.Errorf("%s was left", name)
		}
	}
}
