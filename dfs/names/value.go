package names

import (
	"encoding/binary"
	"errors"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
)

// valueVersion is the first byte of every inode in the checkpoint. Version 1, without groups and modes, can still be
// read.
const valueVersion = 2

// An image is an inode as the checkpoint stores it.
type image struct {
	parent                                   wire.FileID
	name, user, group                        string
	mode                                     uint16
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

func (m *image) fields(c *codec.Fields) {
	codec.Number(c, &m.parent)
	codec.Text(c, &m.name)
	rightsFields(c, &m.user, &m.group, &m.mode)
	codec.Number(c, &m.mtime)
	c.Flags(&m.dir, &m.hasCRC, &m.open, &m.shadow, &m.recovering, &m.unread)
	if c.Version < 2 {
		m.mode = oldMode(m.dir)
	}
	if m.dir {
		codec.Number(c, &m.quota.files)
		codec.Number(c, &m.quota.bytes)
		return
	}
	codec.Number(c, &m.replicas)
	codec.Number(c, &m.blockSize)
	codec.Number(c, &m.crc)
	if m.open {
		codec.Text(c, &m.holder)
		codec.Text(c, &m.request)
		codec.List(c, &m.pipeline, codec.Text)
	}
	codec.List(c, &m.blocks, blockFields)
}

func blockFields(c *codec.Fields, b *wire.Block) {
	codec.Number(c, &b.ID)
	codec.Number(c, &b.Gen)
	codec.Number(c, &b.Len)
}

// imageOf describes an inode.
func (t *tree) imageOf(i *inode) *image {
	m := &image{name: i.name, user: i.owner.name, group: t.groups[i.group], mode: i.mode, mtime: i.mtime, dir: i.dir != nil}
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

// encodeImage encodes an inode: version, fields, CRC32C of key, version and fields.
func encodeImage(key []byte, m *image) []byte {
	c := codec.Write([]byte{valueVersion}, valueVersion)
	m.fields(&c)
	return seal(key, c.Written())
}

func seal(key, value []byte) []byte {
	crc := codec.AddSum(codec.Sum(key), value)
	return binary.LittleEndian.AppendUint32(value, crc)
}

var errChecksum = errors.New("its checksum is wrong")

// unseal verifies the checksum and removes it.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < 5 {
		return nil, errors.New("it is cut short")
	}
	body := value[:len(value)-4]
	crc := codec.AddSum(codec.Sum(key), body)
	if crc != binary.LittleEndian.Uint32(value[len(body):]) {
		return nil, errChecksum
	}
	return body, nil
}

// decodeImage decodes an inode.
func decodeImage(key, value []byte) (*image, error) {
	body, err := unseal(key, value)
	if err != nil {
		return nil, wire.Errorf(wire.Corrupt, "entry %x: %w", key, err)
	}
	if body[0] < 1 || body[0] > valueVersion {
		return nil, wire.Errorf(wire.Invalid, "entry %x: is of version %d; this program knows up to version %d", key, body[0], valueVersion)
	}
	c := codec.Read(body[1:], body[0], maxText)
	m := &image{}
	m.fields(&c)
	if err := c.End(); err != nil {
		return nil, wire.Errorf(wire.Corrupt, "entry %x: %w", key, err)
	}
	return m, nil
}

// inodeKey returns the key of an inode: its id, big-endian, so that keys are in order.
func inodeKey(id wire.FileID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
