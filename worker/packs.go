package worker

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/shuffle"
)

// packs is a scratch file system in which small files share one: creating a file takes longer than a small map. A
// small file stays in memory until it gets its final name. Then it is appended to the pack of its directory, after a
// head that names it, so that it can be found again after a restart. Larger files are ordinary files.
type packs struct {
	small int // size in bytes up to which a file is packed; 0 packs none
	disk  shuffle.FS

	mu    sync.Mutex // guards the fields below
	fresh map[string][]byte
	files map[string]place
	open  map[string]*pack // by directory
}

var _ shuffle.FS = (*packs)(nil)

// A place is the position of a packed file.
type place struct {
	in     *os.File
	off, n int64
}

type pack struct {
	f   *os.File
	end int64
}

func newPacks(small int) *packs {
	return &packs{small: small, disk: shuffle.Disk(), fresh: map[string][]byte{}, files: map[string]place{}, open: map[string]*pack{}}
}

// packName is the file in a directory that holds its small ones.
const packName = "small.pack"

// The head of a packed file: a mark, the lengths of name and content, a checksum of these three and the name,
// the name. The content has checksums of its own.
const (
	packMark   = 0x6b70726d
	packHead   = 4 + 4 + 8 + 4
	maxPackKey = 255
)

func appendPackHead(b []byte, name string, n int) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, packMark)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	sum := codec.AddSum(codec.Sum(b[at:]), []byte(name))
	b = binary.LittleEndian.AppendUint32(b, sum)
	return append(b, name...)
}

// readPackHead reads the head at an offset of a pack of size bytes, or false if there is no whole file.
func readPackHead(r io.ReaderAt, off, size int64) (name string, at place, ok bool) {
	var b [packHead + maxPackKey]byte
	if _, err := r.ReadAt(b[:packHead], off); err != nil {
		return "", at, false
	}
	k, n := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
	if binary.LittleEndian.Uint32(b[:]) != packMark || k == 0 || k > maxPackKey || n > uint64(size) {
		return "", at, false
	}
	key := b[packHead : packHead+k]
	if _, err := r.ReadAt(key, off+packHead); err != nil {
		return "", at, false
	}
	if codec.AddSum(codec.Sum(b[:16]), key) != binary.LittleEndian.Uint32(b[16:]) {
		return "", at, false
	}
	at = place{off: off + packHead + int64(k), n: int64(n)}
	return string(key), at, at.off+at.n <= size
}

// Create creates a file that stays in memory while it is small.
func (p *packs) Create(name string) (shuffle.File, error) {
	if p.small == 0 {
		return p.disk.Create(name)
	}
	return &smallFile{fs: p, name: name}, nil
}

// Open opens a file, packed or not.
func (p *packs) Open(name string) (shuffle.File, error) {
	if at, ok := p.find(name); ok {
		return packedFile{io.NewSectionReader(at.in, at.off, at.n)}, nil
	}
	return p.disk.Open(name)
}

func (p *packs) find(name string) (place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.files[name]
	return at, ok
}

// has reports whether a file exists.
func (p *packs) has(name string) bool {
	if at, ok := p.find(name); ok {
		name = at.in.Name()
	}
	_, err := os.Stat(name)
	return err == nil
}

// Rename gives a file its final name. A small file goes into the pack.
func (p *packs) Rename(from, to string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	content, ok := p.fresh[from]
	if !ok {
		return p.disk.Rename(from, to)
	}
	k, err := p.packOf(filepath.Dir(to))
	if err != nil {
		return err
	}
	key := filepath.Base(to)
	b := append(appendPackHead(make([]byte, 0, packHead+len(key)+len(content)), key, len(content)), content...)
	if _, err := k.f.WriteAt(b, k.end); err != nil {
		return err // whatever was written is behind the end and will be overwritten
	}
	delete(p.fresh, from)
	p.files[to] = place{k.f, k.end + int64(len(b)-len(content)), int64(len(content))}
	k.end += int64(len(b))
	return nil
}

// packOf opens the pack of a directory. p.mu must be held.
func (p *packs) packOf(dir string) (*pack, error) {
	if k := p.open[dir]; k != nil {
		return k, nil
	}
	f, err := os.OpenFile(filepath.Join(dir, packName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	k := &pack{f: f}
	p.open[dir] = k
	return k, nil
}

// Remove deletes a file. The space of a packed one is freed with its directory.
func (p *packs) Remove(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, fresh := p.fresh[name]
	_, packed := p.files[name]
	if !fresh && !packed {
		return p.disk.Remove(name)
	}
	delete(p.fresh, name)
	delete(p.files, name)
	return nil
}

// adopt finds what a pack held when the last process ended, and cuts off what was incomplete.
func (p *packs) adopt(dir string) (names []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, err := p.packOf(dir)
	if err != nil {
		return nil, err
	}
	info, err := k.f.Stat()
	if err != nil {
		return nil, err
	}
	for {
		name, at, ok := readPackHead(k.f, k.end, info.Size())
		if !ok || name != filepath.Base(name) {
			return names, k.f.Truncate(k.end)
		}
		at.in = k.f
		p.files[filepath.Join(dir, name)] = at
		names = append(names, name)
		k.end = at.off + at.n
	}
}

// drop forgets a directory. The caller removes it.
func (p *packs) drop(dir string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.open[dir]
	if k == nil {
		return nil
	}
	delete(p.open, dir)
	for name, at := range p.files {
		if at.in == k.f {
			delete(p.files, name)
		}
	}
	return k.f.Close()
}

// close closes all packs. Their content stays.
func (p *packs) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, k := range p.open {
		errs = append(errs, k.f.Close())
	}
	clear(p.open)
	clear(p.files)
	return errors.Join(errs...)
}

// packedFile is a part of a pack.
type packedFile struct{ *io.SectionReader }

func (packedFile) Write([]byte) (int, error) { return 0, os.ErrPermission }
func (packedFile) Close() error              { return nil }
func (f packedFile) Size() (int64, error)    { return f.SectionReader.Size(), nil }

// A smallFile is in memory until it grows too large.
type smallFile struct {
	fs   *packs
	name string
	buf  []byte
	file shuffle.File // set once it is on disk
}

func (f *smallFile) Write(p []byte) (int, error) {
	if f.file == nil && len(f.buf)+len(p) <= f.fs.small {
		f.buf = append(f.buf, p...)
		return len(p), nil
	}
	if f.file == nil {
		file, err := f.fs.disk.Create(f.name)
		if err != nil {
			return 0, err
		}
		f.file = file
		if _, err := file.Write(f.buf); err != nil {
			return 0, err
		}
		f.buf = nil
	}
	return f.file.Write(p)
}

func (f *smallFile) ReadAt(p []byte, off int64) (int, error) {
	if f.file != nil {
		return f.file.ReadAt(p, off)
	}
	if off >= int64(len(f.buf)) {
		return 0, io.EOF
	}
	n := copy(p, f.buf[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *smallFile) Size() (int64, error) {
	if f.file != nil {
		return f.file.Size()
	}
	return int64(len(f.buf)), nil
}

// Close keeps a small file until Rename names it.
func (f *smallFile) Close() error {
	if f.file != nil {
		return f.file.Close()
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.fresh[f.name] = f.buf
	return nil
}
