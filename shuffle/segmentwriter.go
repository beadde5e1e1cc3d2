package shuffle

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/s2"

	"github.com/millrace/millrace/internal/codec"
)

// frameBuffers is the working memory of a segment writer: two frames at most.
type frameBuffers struct {
	frame  []byte // header and raw records
	packed []byte // compressed payload, nil for None
}

// frameBufferBytes returns how much to reserve for frameBuffers.
func frameBufferBytes(p *Pool, codec Compression) int64 {
	if codec == None {
		return int64(p.frameSize())
	}
	return int64(p.frameSize() + frameHeader + s2.MaxEncodedLen(p.frameSize()))
}

func newFrameBuffers(p *Pool, codec Compression) *frameBuffers {
	b, ok := p.spare.Get().(*frameBuffers)
	if !ok {
		b = &frameBuffers{frame: make([]byte, frameHeader, p.frameSize())}
	}
	if codec != None && b.packed == nil {
		b.packed = make([]byte, frameHeader+s2.MaxEncodedLen(p.frameSize()))
	}
	return b
}

// segmentWriter writes sorted records, one partition after another, to a segment file. The file is removed unless
// finish succeeds.
type segmentWriter struct {
	ctx  context.Context
	fs   FS
	path string
	file File
	buf  []byte // frame under way: header, then records; its capacity is the frame size
	pack packer

	cur  frame  // header of the frame under way
	crc  uint32 // of the partition's records so far, however they are divided and compressed
	off  int64
	foot footer
	open bool // the last frame written was oversized, and may be the partition's last
	err  error
}

// newSegmentWriter creates the file. The writer owns the buffers until finish or discard.
func newSegmentWriter(ctx context.Context, fs FS, path, name string, codec Compression, partitions int, bufs *frameBuffers) (*segmentWriter, error) {
	file, err := fs.Create(path)
	if err != nil {
		return nil, scratchErr("create", path, err)
	}
	tag := nameTag(name)
	w := &segmentWriter{
		ctx: ctx, fs: fs, path: path, file: file, buf: bufs.frame[:frameHeader],
		pack: packer{codec: codec, buf: bufs.packed},
		foot: footer{tag: tag, frame: uint32(cap(bufs.frame)), codec: codec, partitions: make([]PartitionInfo, partitions)},
	}
	if err := w.write(appendHeader(nil, tag)); err != nil {
		w.discard()
		return nil, err
	}
	return w, nil
}

// begin starts a partition, after the one before. Partitions without records
// need no begin.
func (w *segmentWriter) begin(partition int) {
	w.end()
	w.sum()
	w.cur = frame{tag: w.foot.tag, partition: uint32(partition)}
}

// append adds a stored record to the partition.
func (w *segmentWriter) append(rec []byte) error {
	if len(rec) > cap(w.buf)-len(w.buf) {
		if done, err := w.room(len(rec), rec); done || err != nil {
			return err
		}
	}
	w.buf = append(w.buf, rec...)
	w.cur.records++
	return nil
}

// add encodes a record and adds it.
func (w *segmentWriter) add(key, value []byte) error {
	size := recordSize(len(key), len(value))
	if size > cap(w.buf)-len(w.buf) {
		head := appendLengths(nil, len(key), len(value))
		if done, err := w.room(size, head, key, value); done || err != nil {
			return err
		}
	}
	n := len(w.buf)
	w.buf = w.buf[:n+size]
	putRecord(w.buf[n:], key, value)
	w.cur.records++
	return nil
}

// addMarked is add with a mark before the key.
func (w *segmentWriter) addMarked(mark, key, value []byte) error {
	keyLen := len(mark) + len(key)
	size := recordSize(keyLen, len(value))
	if size > cap(w.buf)-len(w.buf) {
		head := appendLengths(nil, keyLen, len(value))
		if done, err := w.room(size, head, mark, key, value); done || err != nil {
			return err
		}
	}
	w.buf = append(append(append(appendLengths(w.buf, keyLen, len(value)), mark...), key...), value...)
	w.cur.records++
	return nil
}

// room flushes the current frame. A record that is larger than any frame is written at once, from the given pieces,
// as a frame of its own.
func (w *segmentWriter) room(size int, pieces ...[]byte) (done bool, err error) {
	if w.cur.records > 0 {
		if err := w.flush(false); err != nil {
			return false, err
		}
	}
	if err := canceled(w.ctx); err != nil {
		return false, err
	}
	if size <= cap(w.buf)-frameHeader {
		return false, nil
	}
	return true, w.oversized(size, pieces)
}

// oversized writes one record as a frame without copying it. It is not known yet whether it is the last of its
// partition, so the partition may end with an empty frame.
func (w *segmentWriter) oversized(size int, pieces [][]byte) error {
	f := &w.cur
	f.raw, f.stored, f.codec, f.last, f.records = uint32(size), uint32(size), None, false, 1
	head := w.buf[:frameHeader]
	f.putHeader(head)
	sum := codec.Sum(head[4:])
	for _, b := range pieces {
		sum = codec.AddSum(sum, b)
		w.crc = codec.AddSum(w.crc, b)
	}
	binary.LittleEndian.PutUint32(head, sum)
	for _, b := range append([][]byte{head}, pieces...) {
		if w.err = w.write(b); w.err != nil {
			return w.err
		}
	}
	w.count(frameHeader + size)
	w.open = true
	return nil
}

// count adds the frame just written to the index and prepares the next.
func (w *segmentWriter) count(stored int) {
	f := &w.cur
	p := &w.foot.partitions[f.partition]
	p.Records += int64(f.records)
	p.RawBytes += int64(f.raw)
	p.StoredBytes += int64(stored)
	f.seq++
	f.records = 0
	w.buf = w.buf[:frameHeader]
}

// end closes the open partition with a frame marked as its last.
func (w *segmentWriter) end() {
	if w.err == nil && (w.cur.records > 0 || w.open) {
		w.err = w.flush(true)
	}
}

// sum adds the content of the last written partition to the sum of the file.
func (w *segmentWriter) sum() {
	if w.crc != 0 {
		w.foot.sum += codec.Mix(uint64(w.cur.partition)<<32 | uint64(w.crc))
		w.crc = 0
	}
}

// flush writes the frame under way.
func (w *segmentWriter) flush(last bool) error {
	if w.err != nil {
		return w.err
	}
	raw := w.buf[frameHeader:]
	w.crc = codec.AddSum(w.crc, raw)
	stored, kind := raw, None
	if len(raw) > 0 {
		stored, kind = w.pack.pack(raw)
	}
	f := &w.cur
	f.raw, f.stored, f.codec, f.last = uint32(len(raw)), uint32(len(stored)), kind, last
	out := w.buf
	if kind != None {
		out = append(out[:frameHeader], stored...)
	}
	f.seal(out)
	w.err = w.write(out)
	w.count(len(out))
	w.open = false
	return w.err
}

func (w *segmentWriter) write(b []byte) error {
	n, err := w.file.Write(b)
	w.off += int64(n)
	if err == nil && n < len(b) {
		err = fmt.Errorf("wrote %d of %d bytes", n, len(b))
	}
	if err != nil {
		return scratchErr("write", w.path, err)
	}
	return nil
}

// finish writes the index and closes the file. On failure the file is removed.
func (w *segmentWriter) finish() (*footer, error) {
	w.end()
	w.sum()
	w.foot.sum |= 1 // 0 means unknown
	if w.err == nil {
		w.err = canceled(w.ctx)
	}
	if w.err != nil {
		w.discard()
		return nil, w.err
	}
	w.fillOffsets()
	if w.err = w.write(w.foot.appendTo(nil, w.off)); w.err == nil {
		if err := w.file.Close(); err != nil {
			w.err = scratchErr("close", w.path, err)
		}
		w.file = nil
	}
	if w.err != nil {
		w.discard()
		return nil, w.err
	}
	return &w.foot, nil
}

// fillOffsets gives empty partitions the place where they would be.
func (w *segmentWriter) fillOffsets() {
	next := int64(segmentHeader)
	for i := range w.foot.partitions {
		p := &w.foot.partitions[i]
		p.Offset = next
		next += p.StoredBytes
	}
}

// abandon discards the file unless finish has closed it. It is for defer, so that a panic in the caller's code
// leaves nothing behind either.
func (w *segmentWriter) abandon() {
	if w.file != nil {
		w.discard()
	}
}

// discard closes and removes the file.
func (w *segmentWriter) discard() {
	if w.file != nil {
		_ = w.file.Close() // the content is unwanted
		w.file = nil
	}
	_ = w.fs.Remove(w.path) // report the first error
}
