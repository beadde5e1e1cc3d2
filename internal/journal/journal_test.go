package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small has segments of a few records.
var small = Config{SegmentBytes: 600, MaxRecord: 1 << 10, MaxBatch: 1 << 10, ReserveBytes: 8 << 10}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reopen opens a journal and returns the payloads from record from on.
func reopen(fsys disk.FS, cfg Config, from uint64) (*Journal, []string, error) {
	var got []string
	next := from
	j, err := Open(fsys, "j", cfg, from, func(seq uint64, payload []byte) error {
		if seq != next {
			return fmt.Errorf("record %d came after %d", seq, next-1)
		}
		next++
		got = append(got, string(payload))
		return nil
	})
	return j, got, err
}

func open(t testing.TB, fsys disk.FS, cfg Config) *Journal {
	t.Helper()
	j, _, err := reopen(fsys, cfg, 1)
	must(t, err)
	return j
}

// text is the payload of record i: of varying length, without zeros.
func text(i int) string { return fmt.Sprintf("record %d %s", i, strings.Repeat("x", i*37%90)) }

// fill commits records first..last.
func fill(t testing.TB, j *Journal, first, last int) {
	t.Helper()
	for i := first; i <= last; i++ {
		seq, err := j.Commit([]byte(text(i)))
		must(t, err)
		if seq != uint64(i) {
			t.Fatalf("record %d got number %d", i, seq)
		}
	}
}

// check wants records first..last.
func check(t testing.TB, got []string, first, last int) {
	t.Helper()
	if len(got) != last-first+1 {
		t.Fatalf("%d records, want %d to %d", len(got), first, last)
	}
	for i, s := range got {
		if s != text(first+i) {
			t.Fatalf("record %d is %q", first+i, s)
		}
	}
}

func TestReopen(t *testing.T) {
	root, err := disk.OpenRoot(t.TempDir())
	must(t, err)
	defer root.Close()
	for name, fsys := range map[string]disk.FS{"real": root, "memory": memdisk.New()} {
		j := open(t, fsys, small)
		fill(t, j, 1, 20)
		must(t, j.Close())
		must(t, j.Close())
		if _, err := j.Append([]byte("x")); !errors.Is(err, wire.Unavailable) {
			t.Errorf("%s: append after close: %v", name, err)
		}
		j, got, err := reopen(fsys, small, 1)
		must(t, err)
		check(t, got, 1, 20)
		fill(t, j, 21, 30)
		if j.Segments() < 3 {
			t.Errorf("%s: %d segments", name, j.Segments())
		}
		before := j.Segments()
		must(t, j.DropBefore(15))
		if j.Segments() >= before {
			t.Errorf("%s: no segment was dropped of %d", name, before)
		}
		must(t, j.Close())
		if _, _, err := reopen(fsys, small, 1); !errors.Is(err, wire.Corrupt) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("%s: opened from a dropped record: %v", name, err)
		}
		j, got, err = reopen(fsys, small, 15)
		must(t, err)
		check(t, got, 15, 30)
		must(t, j.Close())
		j, got, err = reopen(fsys, small, 40)
		must(t, err)
		if seq, err := j.Commit([]byte("a")); seq != 40 || err != nil || len(got) != 0 {
			t.Errorf("%s: behind its checkpoint: %d, %v, %d records", name, seq, err, len(got))
		}
		must(t, j.Close())
	}
}

func TestMissingSegment(t *testing.T) {
	m := memdisk.New()
	j := open(t, m, small)
	fill(t, j, 1, 40)
	must(t, j.Close())
	segs, err := segments(m, "j")
	must(t, err)
	must(t, m.Remove(segs[1].name))
	if _, _, err := reopen(m, small, 1); !errors.Is(err, wire.Corrupt) || !strings.Contains(err.Error(), segs[2].name) {
		t.Errorf("a segment is missing: %v", err)
	}
}

func TestLimits(t *testing.T) {
	m := memdisk.New()
	j := open(t, m, small)
	if _, err := j.Append(make([]byte, small.MaxRecord+1)); !errors.Is(err, wire.TooLarge) {
		t.Errorf("a large record: %v", err)
	}
	if err := j.Wait(1); !errors.Is(err, wire.Invalid) {
		t.Errorf("waiting for nothing: %v", err)
	}
	for i, durable := range []uint64{0, 0, 2} { // a batch may wait, and no more
		if _, err := j.Append(make([]byte, small.MaxBatch-recordLen)); err != nil || j.Durable() != durable {
			t.Errorf("%d are durable after %d, want %d, %v", j.Durable(), i+1, durable, err)
		}
	}
	for range 100 { // more than a batch, and nobody waits
		if _, err := j.Append(make([]byte, small.MaxRecord)); err != nil {
			t.Fatal(err)
		}
	}
	if j.Durable() < 90 {
		t.Errorf("only %d records are durable although the batch is limited", j.Durable())
	}
	must(t, j.Close())
	if _, err := Open(m, "j", Config{MaxRecord: -1}, 1, nil); err == nil {
		t.Error("a negative limit was accepted")
	}
}

func TestGroupCommit(t *testing.T) {
	m := memdisk.New()
	syncs := 0
	gate := make(chan struct{})
	j := open(t, m, DefaultConfig())
	m.SetFail(func(op, _ string, _ int) error {
		if op == "sync" {
			syncs++
			if syncs == 1 {
				<-gate // all others arrive meanwhile
			}
		}
		return nil
	})
	first, err := j.Append([]byte("first"))
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := j.Wait(first); err != nil {
			t.Error(err)
		}
	})
	for range 50 {
		seq, err := j.Append([]byte("other"))
		must(t, err)
		wg.Go(func() {
			if err := j.Wait(seq); err != nil || j.Durable() < seq {
				t.Errorf("record %d: %v, durable up to %d", seq, err, j.Durable())
			}
		})
	}
	close(gate)
	wg.Wait()
	if syncs > 2 {
		t.Errorf("%d syncs for 51 records", syncs)
	}
	must(t, j.Close())
}

func TestFailedSyncIsNeverAcknowledged(t *testing.T) {
	m := memdisk.New()
	j := open(t, m, small)
	fill(t, j, 1, 5)
	bad := true
	m.SetFail(func(op, _ string, _ int) error {
		if op == "sync" && bad {
			bad = false
			return syscall.EIO
		}
		return nil
	})
	if _, err := j.Commit([]byte(text(6))); !errors.Is(err, wire.Unavailable) || !strings.Contains(err.Error(), "input/output error") {
		t.Fatalf("commit: %v", err)
	}
	if _, err := j.Commit([]byte(text(7))); err == nil {
		t.Fatal("a journal whose sync failed went on")
	}
	if err := j.Wait(6); err == nil {
		t.Fatal("a record whose sync failed was acknowledged later")
	}
	if err := j.Close(); err == nil {
		t.Error("closing says nothing about it")
	}
	j, got, err := reopen(m.Crash(rand.New(rand.NewPCG(1, 1))), small, 1)
	must(t, err)
	check(t, got, 1, 5)
	must(t, j.Close())
}

func TestFullDisk(t *testing.T) {
	m := memdisk.New()
	m.SetLimit(64 << 10)
	j := open(t, m, small)
	hog, err := m.Create("hog")
	must(t, err)
	_, free, _ := m.Free()
	_, err = hog.Write(make([]byte, free))
	must(t, err)
	n := 0
	for ; n < 1000; n++ {
		if _, err = j.Commit([]byte(text(n + 1))); err != nil {
			break
		}
	}
	if !errors.Is(err, wire.NoSpace) || n == 0 {
		t.Fatalf("after %d records: %v", n, err)
	}
	must(t, j.Close())
	j, got, err := reopen(m, small, 1)
	must(t, err)
	check(t, got, 1, n)
	if _, err := j.Append([]byte("x")); !errors.Is(err, wire.NoSpace) {
		t.Fatalf("on a full disk: %v", err)
	}
	if err := j.Room(); !errors.Is(err, wire.NoSpace) {
		t.Fatalf("on a full disk there is room: %v", err)
	}
	// What must be written goes where the reserve was.
	for range 5 {
		n++
		seq, err := j.AppendAnyway([]byte(text(n)))
		must(t, err)
		must(t, j.Wait(seq))
	}
	must(t, hog.Truncate(0))
	must(t, j.Room())
	fill(t, j, n+1, n+100)
	must(t, j.Close())
	j, got, err = reopen(m, small, 1)
	must(t, err)
	check(t, got, 1, n+100)
	must(t, j.Close())
}

// Every operation of a run fails once; nothing acknowledged is lost.
func TestEveryOperationFailsOnce(t *testing.T) {
	for k := 1; ; k++ {
		m := memdisk.New()
		reached := false
		m.SetFail(func(_, _ string, n int) error {
			if n == k {
				reached = true
				return syscall.EIO
			}
			return nil
		})
		acked := 0
		if j, _, err := reopen(m, small, 1); err == nil {
			for i := 1; i <= 30; i++ {
				if _, err := j.Commit([]byte(text(i))); err != nil {
					break
				}
				acked = i
			}
			if err := j.Close(); err != nil && !errors.Is(err, wire.Unavailable) {
				t.Errorf("operation %d: close: %v", k, err)
			}
		}
		m.SetFail(nil)
		for _, fsys := range []*memdisk.FS{m, m.Crash(rand.New(rand.NewPCG(uint64(k), 2)))} {
			j, got, err := reopen(fsys, small, 1)
			must(t, err)
			if len(got) < acked || len(got) > acked+1 {
				t.Fatalf("operation %d failed: %d records of %d acknowledged", k, len(got), acked)
			}
			check(t, got, 1, len(got))
			must(t, j.Close())
		}
		if !reached {
			return
		}
	}
}

func TestGolden(t *testing.T) {
	const name = "testdata/golden-v1.journal"
	want := newHeader(7)
	for i := 7; i < 10; i++ {
		want = appendRecord(want, uint64(i), (i-7)%2, []byte(text(i)))
	}
	if os.Getenv("MILLRACE_REWRITE") != "" {
		must(t, os.WriteFile(name, want, 0o644))
	}
	got, err := os.ReadFile(name)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what this program writes", name)
	}
	m := memdisk.New()
	must(t, m.MkdirAll("j"))
	put(t, m, "j/"+segmentName(7), got)
	j, recs, err := reopen(m, small, 7)
	must(t, err)
	check(t, recs, 7, 9)
	must(t, j.Close())

	newer := bytes.Clone(got)
	newer[8] = 9
	copy(newer[28:], appendHeaderSum(newer[:28]))
	put(t, m, "j/"+segmentName(7), newer)
	if _, _, err := reopen(m, small, 7); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("a newer version: %v", err)
	}
}

// put replaces a file.
func put(t testing.TB, m *memdisk.FS, name string, data []byte) {
	t.Helper()
	f, err := m.Edit(name)
	if err != nil {
		f, err = m.Create(name)
	}
	must(t, err)
	must(t, f.Truncate(0))
	_, err = f.WriteAt(data, 0)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
}

// get reads a file.
func get(t testing.TB, m *memdisk.FS, name string) []byte {
	t.Helper()
	f, err := m.Open(name)
	must(t, err)
	data, err := io.ReadAll(f)
	must(t, err)
	must(t, f.Close())
	return data
}
