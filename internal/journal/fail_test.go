package journal

import (
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
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

// TestTornIsNotDamaged: a tail that a power cut tore is no damage, and there is nothing to repair; the same cut in a file that is not
// the last is, and the reason of another damage is told as it is.
func TestTornIsNotDamaged(t *testing.T) {
	whole := func() (*memdisk.FS, []segment) {
		m := memdisk.New()
		j := open(t, m, small)
		fill(t, j, 1, 60)
		must(t, j.Close())
		segs, err := segments(m, "j")
		must(t, err)
		return m, segs
	}
	for _, tt := range []struct {
		what  string
		hurt  func(data []byte) []byte
		last  string // what is said of it in the last file, "": nothing
		first string // and in the first
	}{
		{"a cut", func(data []byte) []byte { return data[:headerLen+20] }, "", "the file ends in the middle of a record, but is not the last"},
		{"a flipped bit", func(data []byte) []byte { data[headerLen+30] ^= 1; return data }, "later ones are whole", "later ones are whole"},
	} {
		for name, last := range map[string]bool{"first": false, "last": true} {
			m, segs := whole()
			at, want := segs[0], tt.first
			if last {
				at, want = segs[len(segs)-1], tt.last
			}
			put(t, m, at.name, tt.hurt(get(t, m, at.name)))
			l, err := Inspect(m, "j")
			must(t, err)
			if (l == nil) != (want == "") || l != nil && !strings.Contains(l.Why, want) {
				t.Errorf("%s in the %s file: %v, want %q", tt.what, name, l, want)
			}
		}
	}
}

// TestFencedOut: a journal that belongs to another process by now says so to all who wait or write, and is not told from one that failed
// otherwise by its text alone.
func TestFencedOut(t *testing.T) {
	for want, why := range map[wire.Kind]error{wire.Stale: wire.Errorf(wire.Stale, "another has it"), wire.Unavailable: syscall.EIO} {
		var fence error
		cfg := small
		cfg.Fence = func() error { return fence }
		j := open(t, memdisk.New(), cfg)
		fill(t, j, 1, 3)
		fence = why
		seq, err := j.Append([]byte("x"))
		must(t, err)
		for what, err := range map[string]error{"waiting": j.Wait(seq), "another": second(j.Commit([]byte("y"))), "closing": j.Close()} {
			if wire.KindOf(err) != want || !strings.Contains(err.Error(), "must be opened again: "+why.Error()) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		if j.Durable() != 3 {
			t.Errorf("%d records are durable", j.Durable())
		}
	}
}

func second(_ uint64, err error) error { return err }

// counting counts the files that are open.
type counting struct {
	*memdisk.FS
	open map[*openFile]string
}

type openFile struct {
	disk.File
	of *counting
}

func (c *counting) keep(f disk.File, err error, name string) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	o := &openFile{f, c}
	c.open[o] = name
	return o, nil
}

func (c *counting) Create(name string) (disk.File, error) {
	f, err := c.FS.Create(name)
	return c.keep(f, err, name)
}

func (c *counting) Open(name string) (disk.File, error) {
	f, err := c.FS.Open(name)
	return c.keep(f, err, name)
}

func (c *counting) Edit(name string) (disk.File, error) {
	f, err := c.FS.Edit(name)
	return c.keep(f, err, name)
}

func (o *openFile) Close() error {
	delete(o.of.open, o)
	return o.File.Close()
}

// TestFilesAreClosed: a journal has one file open, however many it has; when it is closed, or could not be opened, none, nor has one
// that was looked at or repaired.
func TestFilesAreClosed(t *testing.T) {
	c := &counting{memdisk.New(), map[*openFile]string{}}
	none := func(when string) {
		t.Helper()
		if len(c.open) > 0 {
			t.Errorf("%s: %v are open", when, c.open)
		}
	}
	j := open(t, c, small)
	fill(t, j, 1, 60)
	if _, err := j.Scan(1, 60, func(uint64, []byte) error { return nil }); err != nil || len(c.open) != 1 {
		t.Errorf("%v are open, %v", c.open, err)
	}
	must(t, j.Close())
	none("closed")
	stopped := errors.New("stop")
	if _, err := Open(c, "j", small, 1, func(uint64, []byte) error { return stopped }); !errors.Is(err, stopped) {
		t.Errorf("who reads wants to stop: %v", err)
	}
	none("stopped")
	c.FS, _ = hurt(t)
	if _, _, err := reopen(c, small, 1); err == nil {
		t.Error("opened a damaged journal")
	}
	none("damaged")
	if l, err := Inspect(c, "j"); l == nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
	none("inspected")
	if l, err := Repair(c, "j"); l == nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
	none("repaired")
	j = open(t, c, small)
	must(t, j.DropBefore(1))
	must(t, j.Close())
	none("closed again")
}
