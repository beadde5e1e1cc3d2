package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/shuffle"
)

func putSmall(t testing.TB, p *packs, name string, content []byte) {
	t.Helper()
	f, err := p.Create(name + ".tmp")
	if err != nil {
		t.Fatal(err)
	}
	for rest := content; len(rest) > 0; { // in several pieces
		n := min(len(rest), 1000)
		if _, err := f.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Rename(name+".tmp", name); err != nil {
		t.Fatal(err)
	}
}

func getSmall(p *packs, name string) ([]byte, error) {
	f, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, 0, n))
}

// Files small and large are found as they were written, also by another process.
func TestPacksKeepFiles(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	p, want := newPacks(4096), map[string][]byte{}
	for i := range 200 {
		content := make([]byte, rng.IntN(6000))
		for j := range content {
			content[j] = byte(rng.Uint32())
		}
		name := filepath.Join(dir, fmt.Sprintf("map-%05d-%d.seg", i, i+7))
		putSmall(t, p, name, content)
		if want[name] = content; i%10 == 3 {
			if err := p.Remove(name); err != nil {
				t.Fatal(err)
			}
			delete(want, name)
		}
	}
	check := func(p *packs) {
		t.Helper()
		for name, content := range want {
			if got, err := getSmall(p, name); err != nil || !bytes.Equal(got, content) || !p.has(name) {
				t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(content), err)
			}
		}
	}
	check(p)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	again := newPacks(4096)
	names, err := again.adopt(dir)
	if err != nil || len(names) < 100 {
		t.Fatalf("%d names, %v", len(names), err)
	}
	check(again)
	putSmall(t, again, filepath.Join(dir, "late"), []byte("late"))
	check(again)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 100 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if err := again.drop(dir); err != nil {
		t.Error(err)
	}
	if got, err := getSmall(again, filepath.Join(dir, "late")); err == nil {
		t.Errorf("a dropped file reads %q", got)
	}
}

// A pack that ends in the middle of a file gives the files before.
func TestPacksTornTail(t *testing.T) {
	dir := t.TempDir()
	p := newPacks(4096)
	for i := range 5 {
		putSmall(t, p, filepath.Join(dir, fmt.Sprint("f", i)), bytes.Repeat([]byte{byte(i)}, 10*i))
	}
	whole, err := os.ReadFile(filepath.Join(dir, packName))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	last := 0
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(filepath.Join(dir, packName), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		p := newPacks(4096)
		names, err := p.adopt(dir)
		if err != nil || len(names) < last {
			t.Fatalf("cut at %d: %d names, %v", cut, len(names), err)
		}
		last = len(names)
		putSmall(t, p, filepath.Join(dir, "new"), []byte("new"))
		if got, err := getSmall(p, filepath.Join(dir, "new")); err != nil || string(got) != "new" {
			t.Fatalf("cut at %d: %q, %v", cut, got, err)
		}
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
	}
	if last != 5 {
		t.Errorf("%d files of the whole pack", last)
	}
}

// TestSmallFilesAreRead as bytes are, before they have a name: while they are in memory, just before they are too large for it, and after.
func TestSmallFilesAreRead(t *testing.T) {
	const small = 1000
	for _, size := range []int{0, 1, small - 1, small, small + 1, 3 * small} {
		dir := t.TempDir()
		p, content := newPacks(small), make([]byte, size)
		for i := range content {
			content[i] = byte(i * 7)
		}
		f, err := p.Create(filepath.Join(dir, "f.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		for rest := content; len(rest) > 0; rest = rest[min(len(rest), 500):] {
			if n, err := f.Write(rest[:min(len(rest), 500)]); err != nil || n != min(len(rest), 500) {
				t.Fatal(n, err)
			}
		}
		if n, err := f.Size(); err != nil || n != int64(size) {
			t.Errorf("%d bytes: size %d, %v", size, n, err)
		}
		if held := len(f.(*smallFile).buf); size > small && held > 0 {
			t.Errorf("of %d bytes on disk %d are in memory", size, held)
		}
		for _, off := range []int{0, 1, size - 10, size - 1, size, size + 1} {
			for _, n := range []int{1, 10, 11} {
				if off < 0 {
					continue
				}
				got, want := make([]byte, n), make([]byte, n)
				k, err := f.ReadAt(got, int64(off))
				m, werr := bytes.NewReader(content).ReadAt(want, int64(off))
				if k != m || !errors.Is(err, werr) || !bytes.Equal(got[:k], want[:m]) {
					t.Errorf("%d bytes: %d at %d: %d, %v; want %d, %v", size, n, off, k, err, m, werr)
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		to := filepath.Join(dir, "f")
		if err := p.Rename(filepath.Join(dir, "f.tmp"), filepath.Join(dir, "nowhere", "f")); err == nil {
			t.Error("it moved to a directory that is not there")
		}
		if err := p.Rename(filepath.Join(dir, "f.tmp"), to); err != nil {
			t.Error(err)
		}
		if _, packed := p.find(to); packed != (size <= small) {
			t.Errorf("%d bytes: packed %v", size, packed)
		}
		if got, err := getSmall(p, to); err != nil || !bytes.Equal(got, content) || !p.has(to) || p.has(to+"x") {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
		if err := os.RemoveAll(dir); err != nil || p.has(to) {
			t.Errorf("%d bytes: they are still there, %v", size, err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
}

// fullDisk takes no bytes.
type fullDisk struct{ shuffle.FS }

type fullFile struct{ shuffle.File }

func (d fullDisk) Create(name string) (shuffle.File, error) {
	f, err := d.FS.Create(name)
	return fullFile{f}, err
}

func (fullFile) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestSmallFilesOutgrowADisk: a file that has become too large for memory, and has no room or no directory on the disk, says so, and so does a pack that cannot grow.
func TestSmallFilesOutgrowADisk(t *testing.T) {
	dir := t.TempDir()
	p := newPacks(10)
	p.disk = fullDisk{shuffle.Disk()}
	for name, want := range map[string]error{filepath.Join(dir, "f"): syscall.ENOSPC, filepath.Join(dir, "nowhere", "f"): os.ErrNotExist} {
		f, err := p.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := f.Write(make([]byte, 10)); n != 10 || err != nil {
			t.Errorf("%s: in memory %d, %v", name, n, err)
		}
		if n, err := f.Write([]byte("x")); n != 0 || !errors.Is(err, want) {
			t.Errorf("%s: %d, %v, want %v", name, n, err, want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	putSmall(t, p, filepath.Join(dir, "first"), []byte("first"))
	if err := p.open[dir].f.Close(); err != nil { // as a disk that fails
		t.Fatal(err)
	}
	f, err := p.Create(filepath.Join(dir, "second.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Rename(filepath.Join(dir, "second.tmp"), filepath.Join(dir, "second")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("it is in a pack that cannot be written: %v", err)
	}
}

// TestPacksOfTwoDirectories: one is dropped, and the other's files are as they were.
func TestPacksOfTwoDirectories(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	p := newPacks(1000)
	for _, dir := range []string{one, two} {
		for i := range 3 {
			putSmall(t, p, filepath.Join(dir, fmt.Sprint("f", i)), fmt.Append(nil, dir, i))
		}
	}
	if err := p.drop(one); err != nil {
		t.Fatal(err)
	}
	if err := p.drop(one); err != nil {
		t.Errorf("again: %v", err)
	}
	for i := range 3 {
		if got, err := getSmall(p, filepath.Join(two, fmt.Sprint("f", i))); err != nil || string(got) != fmt.Sprint(two, i) {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := getSmall(p, filepath.Join(one, fmt.Sprint("f", i))); err == nil {
			t.Errorf("a dropped file reads %q", got)
		}
	}
	f, err := p.Open(filepath.Join(two, "f0"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("a packed file was written to")
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if f, err := newPacks(0).Create(filepath.Join(one, "plain")); err != nil {
		t.Error(err)
	} else if _, small := f.(*smallFile); small || f.Close() != nil {
		t.Error("where none is packed one is small")
	}
}

// TestDamagedPacks: each byte of a pack is turned. What stands before it is there; of the rest nothing is believed that the heads do not bear out.
func TestDamagedPacks(t *testing.T) {
	dir := t.TempDir()
	pack, p := filepath.Join(dir, packName), newPacks(1000)
	var starts []int
	for i := range 3 {
		info, err := os.Stat(pack)
		if err == nil {
			starts = append(starts, int(info.Size()))
		} else {
			starts = append(starts, 0)
		}
		putSmall(t, p, filepath.Join(dir, fmt.Sprint("f", i)), bytes.Repeat([]byte{byte(i)}, 20))
	}
	whole, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	names := func(b []byte) int {
		t.Helper()
		if err := os.WriteFile(pack, b, 0o600); err != nil {
			t.Fatal(err)
		}
		p := newPacks(1000)
		list, err := p.adopt(dir)
		if err != nil {
			t.Error(err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
		return len(list)
	}
	for at := range whole {
		b := bytes.Clone(whole)
		b[at] ^= 0x41
		want := 3
		for i, from := range starts {
			if at >= from && at < from+packHead+2 {
				want = i
			}
		}
		if got := names(b); got != want {
			t.Errorf("byte %d: %d files, want %d", at, got, want)
		}
	}
	long := strings.Repeat("n", maxPackKey+1)
	for what, x := range map[string]struct {
		more []byte
		want int
	}{
		"nothing in it":   {appendPackHead(nil, "a", 0), 4},
		"longest name":    {appendPackHead(nil, long[1:], 0), 4},
		"too long a name": {appendPackHead(nil, long, 0), 3},
		"no name":         {appendPackHead(nil, "", 0), 3},
		"a path":          {appendPackHead(nil, "../a", 0), 3},
		"all of a byte":   {append(appendPackHead(nil, "a", 1), 'x'), 4},
		"one byte short":  {append(appendPackHead(nil, "a", 2), 'x'), 3},
		"far too long":    {appendPackHead(nil, "a", 1<<62), 3},
	} {
		if got := names(append(bytes.Clone(whole), x.more...)); got != x.want {
			t.Errorf("%s: %d files, want %d", what, got, x.want)
		}
	}
}

func FuzzPack(f *testing.F) {
	f.Add(appendPackHead(nil, "map-00001-2.seg", 3))
	f.Add(append(appendPackHead(nil, "a", 1), 'x'))
	f.Fuzz(func(t *testing.T, b []byte) {
		off, size := int64(0), int64(len(b))
		for {
			name, at, ok := readPackHead(bytes.NewReader(b), off, size)
			if !ok {
				return
			}
			if name == "" || at.off <= off || at.off+at.n > size {
				t.Fatalf("%q at %d, %d bytes of %d", name, at.off, at.n, size)
			}
			off = at.off + at.n
		}
	})
}
