package names

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/millrace/millrace/internal/wire"
)

// valueVersion is the first byte of every inode in the checkpoint.
const valueVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An image is an inode as the checkpoint has it.
type image struct {
	parent                                   wire.FileID
	name, user                               string
	mtime                                    int64
	dir                                      bool
	quota                                    quota
	replicas                                 uint8
	blockSize                                int64
	crc                                      uint32
	hasCRC, open, shadow, recovering, unread bool // unread: the last block is being written
	holder, request                          string
	blocks                                   []wire.Block
	pipeline                                 []wire.NodeName
}

func (m *image) fields(c *coder) {
	num(c, &m.parent)
	c.text(&m.name)
	c.text(&m.user)
	num(c, &m.mtime)
	c.flags(&m.dir, &m.hasCRC, &m.open, &m.shadow, &m.recovering, &m.unread)
	if m.dir {
		num(c, &m.quota.files)
		num(c, &m.quota.bytes)
		return
	}
	num(c, &m.replicas)
	num(c, &m.blockSize)
	num(c, &m.crc)
	if m.open {
		c.text(&m.holder)
		c.text(&m.request)
		c.names(&m.pipeline)
	}
	m.blockFields(c)
}

func (m *image) blockFields(c *coder) {
	n := len(m.blocks)
	num(c, &n)
	if c.read {
		if n < 0 || n > len(c.b) {
			c.fail(errShort)
			return
		}
		m.blocks = make([]wire.Block, n)
	}
	for i := range m.blocks {
		c.block(&m.blocks[i])
	}
}

// imageOf describes an inode.
func imageOf(i *inode) *image {
	m := &image{name: i.name, user: i.owner.name, mtime: i.mtime, dir: i.dir != nil}
	if i.parent != nil {
		m.parent = i.parent.id
	}
	if i.dir != nil {
		m.quota = i.dir.quota
		return m
	}
	f := i.file
	m.replicas, m.blockSize, m.crc, m.hasCRC = f.replicas, f.blockSize, f.crc, f.hasCRC
	for _, b := range f.blocks {
		m.blocks = append(m.blocks, b.Block)
	}
	if w := f.writing; w != nil {
		m.open, m.shadow, m.recovering, m.holder, m.request = true, w.shadow, w.recovering, w.holder, w.request
	}
	if b := f.last(); b != nil && b.building != nil {
		m.unread, m.pipeline = true, b.building.pipeline
	}
	return m
}

// encodeImage makes a value: version, fields, CRC32C of key, version and fields.
func encodeImage(key []byte, m *image) []byte {
	c := coder{b: []byte{valueVersion}}
	m.fields(&c)
	return seal(key, c.b)
}

func seal(key, value []byte) []byte {
	crc := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return binary.LittleEndian.AppendUint32(value, crc)
}

var errChecksum = errors.New("its checksum is wrong")

// unseal checks and removes the checksum.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < 5 {
		return nil, errShort
	}
	body := value[:len(value)-4]
	crc := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, body)
	if crc != binary.LittleEndian.Uint32(value[len(body):]) {
		return nil, errChecksum
	}
	return body, nil
}

// decodeImage takes a value apart.
func decodeImage(key, value []byte) (*image, error) {
	body, err := unseal(key, value)
	if err != nil {
		return nil, wire.Errorf(wire.Corrupt, "entry %x: %w", key, err)
	}
	if body[0] != valueVersion {
		return nil, wire.Errorf(wire.Invalid, "entry %x: is of version %d; this program knows version %d", key, body[0], valueVersion)
	}
	c := coder{b: body[1:], read: true}
	m := &image{}
	m.fields(&c)
	if c.err == nil && len(c.b) > 0 {
		c.err = errors.New("has bytes behind its end")
	}
	if c.err != nil {
		return nil, wire.Errorf(wire.Corrupt, "entry %x: %w", key, c.err)
	}
	return m, nil
}

// inodeKey is the key of an inode: its id, big-endian, so that keys are in order.
func inodeKey(id wire.FileID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
