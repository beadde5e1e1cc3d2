package names

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/millrace/millrace/internal/wire"
)

// bbolt maps its file into memory and trusts it. A damaged page makes it panic, and a truncated file makes the
// system kill the process. So before bbolt opens a checkpoint, this code reads the pages as an ordinary file and
// checks each step. It also reads them in place of bbolt when a damaged checkpoint has to be salvaged. The layout is
// that of bbolt's version 2. A page begins with id (8 bytes), flags (2), count (2) and the number of overflow pages
// behind it (4), all little-endian.
const (
	boltMagic, boltVersion = 0xED0CDAED, 2
	pageHeader             = 16
	branchFlag             = 0x01
	leafFlag               = 0x02
	metaFlag               = 0x04
	freeFlag               = 0x10
	noFreelist             = 1<<64 - 1
	elementBytes           = 16 // of a branch and of a leaf
	bucketFlag             = 0x01
	bucketHeader           = 16
	metaBytes              = 64
	maxPageDepth           = 64
)

// pages reads the tree of a bbolt file.
type pages struct {
	file io.ReaderAt
	size int64 // of the file
	page int64 // of a page
	high uint64
	root uint64
	free uint64 // the page that lists free pages
	seen map[uint64]bool
	left int64 // elements that a file of this size may still have
	// entry is called with the bucket's name for each key and value that is not a bucket, and bad for each
	// place that cannot be read. If either returns an error, the walk ends with it.
	entry func(bucket string, k, v []byte) error
	bad   func(err error) error
}

// damaged returns an error about a place in the file.
func damaged(off int64, format string, args ...any) error {
	return wire.Errorf(wire.Corrupt, "at offset %d: %s", off, fmt.Sprintf(format, args...))
}

// checkPages returns an error if the tree of a bbolt file is damaged.
func checkPages(file io.ReaderAt, size int64) error {
	p := &pages{file: file, size: size, entry: func(string, []byte, []byte) error { return nil }, bad: func(err error) error { return err }}
	return p.walk()
}

// walk visits the tree of the newest whole meta page.
func (p *pages) walk() error {
	if err := p.readMeta(); err != nil {
		return err
	}
	if whole := int64(p.high) * p.page; whole > p.size {
		if err := p.bad(damaged(p.size, "the file ends; it had %d bytes", whole)); err != nil {
			return err
		}
	}
	p.seen, p.left = map[uint64]bool{}, p.size/elementBytes
	if err := p.visit(p.root, "", 0); err != nil {
		return err
	}
	return p.checkFree()
}

// checkFree checks the list of free pages, to which bbolt writes: none may be in use.
func (p *pages) checkFree() error {
	if p.free == noFreelist {
		return nil
	}
	off := int64(p.free) * p.page
	head := make([]byte, pageHeader+8)
	le := binary.LittleEndian
	if _, err := p.file.ReadAt(head, off); err != nil || p.free < 2 || p.free >= p.high || le.Uint64(head) != p.free || le.Uint16(head[8:]) != freeFlag {
		return p.bad(damaged(off, "page %d is not the list of free pages", p.free))
	}
	count, from := uint64(le.Uint16(head[10:])), off+pageHeader
	if count == 0xFFFF {
		count, from = le.Uint64(head[pageHeader:]), from+8
	}
	if count > p.high || from+int64(count)*8 > p.size {
		return p.bad(damaged(off, "a list of %d free pages of %d", count, p.high))
	}
	list := make([]byte, count*8)
	if _, err := p.file.ReadAt(list, from); err != nil {
		return p.bad(damaged(from, "the list of free pages cannot be read: %v", err))
	}
	last := uint64(1)
	for ; len(list) > 0; list = list[8:] {
		id := le.Uint64(list)
		if id <= last || id >= p.high || p.seen[id] {
			return p.bad(damaged(off, "the list of free pages has page %d, which is none, or in use", id))
		}
		last = id
	}
	return nil
}

// readMeta chooses the newer of the two meta pages. The page size says where the second is.
func (p *pages) readMeta() error {
	found, best := false, uint64(0)
	for _, off := range []int64{0, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10} {
		b := make([]byte, pageHeader+metaBytes)
		if _, err := p.file.ReadAt(b, off); err != nil {
			continue
		}
		m := b[pageHeader:]
		h := fnv.New64a()
		_, _ = h.Write(m[:metaBytes-8]) // never fails
		le := binary.LittleEndian
		if le.Uint16(b[8:])&metaFlag == 0 || le.Uint32(m) != boltMagic || le.Uint32(m[4:]) != boltVersion || le.Uint64(m[56:]) != h.Sum64() {
			continue
		}
		if tx, page := le.Uint64(m[48:]), int64(le.Uint32(m[8:])); (!found || tx > best) && page >= 1<<10 && page <= 64<<10 {
			found, best = true, tx
			p.page, p.root, p.free, p.high = page, le.Uint64(m[16:]), le.Uint64(m[32:]), le.Uint64(m[40:])
		}
	}
	if !found || p.high > 1<<40 {
		return damaged(0, "no whole meta page: this is no checkpoint, or its beginning is damaged")
	}
	return nil
}

// visit visits a page and those below it.
func (p *pages) visit(id uint64, bucket string, depth int) error {
	off := int64(id) * p.page
	if id < 2 || id >= p.high || p.seen[id] || depth > maxPageDepth {
		return p.bad(damaged(off, "page %d is none of the %d, or is met twice", id, p.high))
	}
	p.seen[id] = true
	head := make([]byte, pageHeader)
	if _, err := p.file.ReadAt(head, off); err != nil {
		return p.bad(damaged(off, "page %d cannot be read: %v", id, err))
	}
	le := binary.LittleEndian
	length := (int64(le.Uint32(head[12:])) + 1) * p.page
	if le.Uint64(head) != id || length > int64(p.high)*p.page-off {
		return p.bad(damaged(off, "is not page %d, but says that it is %d", id, le.Uint64(head)))
	}
	if off+length > p.size {
		return p.bad(damaged(off, "page %d goes beyond the end of the file", id))
	}
	b := make([]byte, length)
	if _, err := p.file.ReadAt(b, off); err != nil {
		return p.bad(damaged(off, "page %d cannot be read: %v", id, err))
	}
	return p.elements(b, off, bucket, depth)
}

// elements visits the elements of a page, or of a bucket that is small enough to be stored as a value.
func (p *pages) elements(b []byte, off int64, bucket string, depth int) error {
	le := binary.LittleEndian
	flags, count := le.Uint16(b[8:]), int(le.Uint16(b[10:]))
	if flags != branchFlag && flags != leafFlag || pageHeader+count*elementBytes > len(b) {
		return p.bad(damaged(off, "a page of the kind %#x with %d elements", flags, count))
	}
	if p.left -= int64(count); p.left < 0 { // overlapping elements could go on forever
		return damaged(off, "more elements than the file has room for")
	}
	for n := range count {
		at := pageHeader + n*elementBytes
		e := b[at:]
		var err error
		if flags == branchFlag {
			err = p.visit(le.Uint64(e[8:]), bucket, depth+1)
		} else {
			k, v, ok := cutElement(b, at)
			if !ok {
				err = p.bad(damaged(off+int64(at), "an element that lies outside its page"))
			} else if le.Uint32(e)&bucketFlag != 0 {
				err = p.bucket(bucket, k, v, off, depth)
			} else {
				err = p.entry(bucket, k, v)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cutElement returns the key and value of a leaf's element.
func cutElement(b []byte, at int) (k, v []byte, ok bool) {
	le := binary.LittleEndian
	from, ks, vs := uint64(at)+uint64(le.Uint32(b[at+4:])), uint64(le.Uint32(b[at+8:])), uint64(le.Uint32(b[at+12:]))
	if from+ks+vs > uint64(len(b)) {
		return nil, nil, false
	}
	return b[from : from+ks], b[from+ks : from+ks+vs], true
}

func (p *pages) bucket(bucket string, name, v []byte, off int64, depth int) error {
	if len(v) < bucketHeader {
		return p.bad(damaged(off, "bucket %q is cut", name))
	}
	if root := binary.LittleEndian.Uint64(v); root != 0 {
		return p.visit(root, string(name), depth+1)
	}
	if len(v) < bucketHeader+pageHeader || depth > maxPageDepth || bucket != "" {
		return p.bad(damaged(off, "bucket %q is cut", name))
	}
	return p.elements(v[bucketHeader:], off, string(name), depth+1)
}
