package worker

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
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
