package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

func appendHeaderSum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, codec.Sum(b))
}

var roomy = Config{ReserveBytes: 1, MaxRecord: 1 << 10, MaxBatch: 1 << 10}

// sample is one segment of n records, each synced for itself.
func sample(n int) (data []byte, ends []int) {
	data = newHeader(1)
	for i := 1; i <= n; i++ {
		data = appendRecord(data, uint64(i), 0, []byte(text(i)))
		ends = append(ends, len(data))
	}
	return data, ends
}

// with is a disk with one segment.
func with(t testing.TB, data []byte) *memdisk.FS {
	t.Helper()
	m := memdisk.New()
	must(t, m.MkdirAll("j"))
	put(t, m, "j/"+segmentName(1), data)
	return m
}

// Row 22: the tail is cut at every byte of the last 4 KiB; garbage or zeros follow.
func TestTornTail(t *testing.T) {
	data, ends := sample(80)
	for at := max(len(data)-4096, headerLen); at <= len(data); at++ {
		whole := 0
		for whole < len(ends) && ends[whole] <= at {
			whole++
		}
		m := with(t, data[:at])
		j, got, err := reopen(m, roomy, 1)
		must(t, err)
		check(t, got, 1, whole)
		lost := at - headerLen
		if whole > 0 {
			lost = at - ends[whole-1]
		}
		if said := strings.Contains(j.Cut(), fmt.Sprintf("%s ended in the middle of record %d: its last %d bytes", segmentName(1), whole+1, lost)); said != (lost > 0) {
			t.Fatalf("cut at %d, %d bytes behind the last record: says %q", at, lost, j.Cut())
		}
		fill(t, j, whole+1, whole+1) // and it goes on from there
		must(t, j.Close())
		_, got, err = reopen(m, roomy, 1)
		must(t, err)
		check(t, got, 1, whole+1)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for n := range 200 {
		garbage := make([]byte, 1+rng.IntN(5000))
		if n%2 == 0 {
			for i := range garbage {
				garbage[i] = byte(rng.Uint32())
			}
		}
		for _, at := range []int{len(data), len(data) - rng.IntN(20)} {
			whole := len(ends)
			if at < len(data) {
				whole--
			}
			j, got, err := reopen(with(t, append(bytes.Clone(data[:at]), garbage...)), roomy, 1)
			if err != nil && at < len(data) && errors.Is(err, wire.Corrupt) {
				continue // the last record was replaced by garbage of the right length
			}
			must(t, err)
			check(t, got, 1, whole)
			must(t, j.Close())
		}
	}
}

// Row 23: each byte of a window of 4 KiB that ends with the file is changed, in two
// ways; all of it is found, with file and offset, in the last record as well.
func TestFlippedByte(t *testing.T) {
	data, ends := sample(80)
	for at := max(len(data)-4096, 0); at < len(data); at++ {
		for _, x := range []byte{0xff, 1 << (at % 8)} {
			flipped := bytes.Clone(data)
			flipped[at] ^= x
			_, got, err := reopen(with(t, flipped), roomy, 1)
			if !errors.Is(err, wire.Corrupt) || !strings.Contains(err.Error(), segmentName(1)) {
				t.Fatalf("byte %d of %d changed by %x: %d records, %v", at, len(data), x, len(got), err)
			}
			begin := headerLen
			for i, end := range ends {
				if end > at {
					break
				}
				begin = ends[i]
			}
			if want := fmt.Sprintf("offset %d:", begin); !strings.Contains(err.Error(), want) {
				t.Fatalf("byte %d: %v, want %s", at, err, want)
			}
		}
	}
	for at := range headerLen {
		flipped := bytes.Clone(data)
		flipped[at] ^= 0x10
		if _, _, err := reopen(with(t, flipped), roomy, 1); err == nil {
			t.Fatalf("byte %d of the header changed: opened", at)
		}
	}
}

// A sector that holds only the first bytes of a record was never written, all others
// were: the record is unfinished, not damaged.
func TestTornHeader(t *testing.T) {
	for split := 1; split < 20; split++ {
		data := newHeader(1)
		data = appendRecord(data, 1, 0, bytes.Repeat([]byte("x"), sector-headerLen-recordLen-split))
		at := len(data)
		data = appendRecord(data, 2, 0, []byte(text(2)))
		clear(data[at:sector])
		j, got, err := reopen(with(t, data), roomy, 1)
		if err != nil || len(got) != 1 {
			t.Fatalf("%d bytes of the header are missing: %d records, %v", split, len(got), err)
		}
		must(t, j.Close())
	}
}

func TestRepair(t *testing.T) {
	m := memdisk.New()
	j := open(t, m, small)
	fill(t, j, 1, 60)
	must(t, j.Close())
	if l, err := Inspect(m, "j"); l != nil || err != nil {
		t.Fatalf("a whole journal: %v, %v", l, err)
	}
	segs, err := segments(m, "j")
	must(t, err)
	name := segs[2].name
	data := get(t, m, name)
	data[headerLen+30] ^= 1
	put(t, m, name, data)
	_, _, before := reopen(m, small, 1)
	if before == nil {
		t.Fatal("opened a damaged journal")
	}
	l, err := Inspect(m, "j")
	must(t, err)
	kept := int(segs[2].first) - 1
	if l.File != name || l.Offset != headerLen || int(l.Kept) != kept || l.Whole != 60-kept-1 || len(l.Later) != len(segs)-3 {
		t.Errorf("%+v", l)
	}
	for _, word := range []string{name, "offset 32", fmt.Sprintf("up to number %d", kept), fmt.Sprintf("%d records that are whole", l.Whole)} {
		if !strings.Contains(l.String(), word) {
			t.Errorf("%q does not say %q", l, word)
		}
	}
	if _, _, err := reopen(m, small, 1); err == nil || err.Error() != before.Error() {
		t.Errorf("inspecting changed the journal: %v", err)
	}
	done, err := Repair(m, "j")
	must(t, err)
	if done.String() != l.String() {
		t.Errorf("repair lost %v, announced %v", done, l)
	}
	j, got, err := reopen(m, small, 1)
	must(t, err)
	check(t, got, 1, kept)
	fill(t, j, kept+1, kept+30)
	must(t, j.Close())
	if !bytes.Equal(get(t, m, name+".damaged"), data) {
		t.Error("the damaged file was not kept")
	}
	if l, err := Repair(m, "j"); l != nil || err != nil {
		t.Errorf("repaired twice: %v, %v", l, err)
	}
}

// Row 26: the power goes while several goroutines append. What was acknowledged is
// there, what was not is there without gaps or not at all.
func TestPowerCut(t *testing.T) {
	seeds := uint64(150)
	if require.Stressed() {
		seeds = 2000
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 9))
		m := memdisk.New()
		for round := range 3 {
			m = powerCut(t, m, rng, fmt.Sprintf("seed %d round %d", seed, round))
		}
	}
}

// powerCut runs until the power goes and returns the disk then.
func powerCut(t *testing.T, m *memdisk.FS, rng *rand.Rand, name string) *memdisk.FS {
	t.Helper()
	var mu sync.Mutex
	var after *memdisk.FS
	var acked, atCut int
	at := m.Ops() + 1 + rng.IntN(60)
	m.SetFail(func(_, _ string, n int) error {
		mu.Lock()
		defer mu.Unlock()
		if n >= at && after == nil {
			atCut = acked
			after = m.Crash(rng)
		}
		return nil
	})
	j, got, err := reopen(m, small, 1)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	acked = len(got)
	check(t, got, 1, acked)
	var order sync.Mutex
	next := acked
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 15 {
				order.Lock()
				next++
				seq, err := j.Append([]byte(text(next)))
				order.Unlock()
				if err == nil {
					err = j.Wait(seq)
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				mu.Lock()
				acked = max(acked, int(seq))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	must(t, j.Close())
	m.SetFail(nil)
	if after == nil {
		atCut, after = acked, m.Crash(rng)
	}
	j, got, err = reopen(after, small, 1)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(got) < atCut {
		t.Fatalf("%s: %d records, %d were acknowledged", name, len(got), atCut)
	}
	check(t, got, 1, len(got))
	must(t, j.Close())
	return after
}

// FuzzOpen opens any bytes as the last segment: it refuses or reads them, never
// panics, and reads the same the second time.
func FuzzOpen(f *testing.F) {
	data, _ := sample(3)
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add(append(bytes.Clone(data), make([]byte, 600)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := with(t, data)
		if l, err := Inspect(m, "j"); err != nil {
			t.Fatal(err)
		} else if l != nil && l.String() == "" {
			t.Fatal("no words")
		}
		j, got, err := reopen(m, roomy, 1)
		if err != nil {
			if _, err := Repair(m, "j"); err != nil {
				t.Fatal(err)
			}
			if j, got, err = reopen(m, roomy, 1); err != nil {
				t.Fatalf("after a repair: %v", err)
			}
		}
		must(t, j.Close())
		j, again, err := reopen(m, roomy, 1)
		must(t, err)
		must(t, j.Close())
		if len(again) != len(got) {
			t.Fatalf("%d records, then %d", len(got), len(again))
		}
	})
}

func BenchmarkCommit8(b *testing.B) {
	m := memdisk.New()
	j := open(b, m, DefaultConfig())
	payload := make([]byte, 100)
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := j.Commit(payload); err != nil {
				b.Error(err)
				return
			}
		}
	})
	must(b, j.Close())
}
