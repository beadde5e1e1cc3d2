package names

import (
	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
)

// recordVersion is the first byte of every journal record. Version 1, without groups and modes, can still be read.
const recordVersion = 2

// maxText bounds a string in a record.
const maxText = 8 << 10

// What an edit does. The numbers are stored, so only append.
const (
	opPut      byte = 1 + iota // a new file or directory
	opBlock                    // a block of an open file is added or changed
	opDrop                     // the last block of an open file is dropped
	opClose                    // a file is closed; a shadow takes its name
	opHold                     // the lease of an open file is taken for recovery
	opMove                     // another name
	opRemove                   // a file or directory is gone, with all below it
	opReplica                  // another replication
	opQuota                    // of a directory, or of a user
	opGen                      // generations up to this one are used
	opDrain                    // a node is to be emptied, or no longer
	opRights                   // another owner, group and mode
	opSnapshot                 // a copy of a tree is kept
	numOps
)

// An edit is one physical change. A journal record is a list of edits that are applied together.
type edit struct {
	op                          byte
	id, parent                  wire.FileID
	name, user, holder, request string
	group                       string
	mode                        uint16
	mtime, blockSize            int64
	replicas                    uint8
	dir, shadow, on             bool
	index                       int
	block                       wire.Block
	pipeline                    []wire.NodeName
	crc                         uint32
	files, bytes                int64
	gen                         uint64
}

// fields reads or writes the fields of each kind of edit.
func (e *edit) fields(c *codec.Fields) {
	switch e.op {
	case opPut:
		e.putFields(c)
	case opBlock:
		codec.Number(c, &e.id)
		codec.Number(c, &e.index)
		blockFields(c, &e.block)
		c.Flags(&e.on) // finished
		codec.List(c, &e.pipeline, codec.Text)
	case opDrop, opHold:
		codec.Number(c, &e.id)
	case opClose:
		codec.Number(c, &e.id)
		codec.Number(c, &e.mtime)
		codec.Number(c, &e.crc)
		c.Flags(&e.on) // the checksum is known
	case opMove:
		codec.Number(c, &e.id)
		codec.Number(c, &e.parent)
		codec.Text(c, &e.name)
		codec.Number(c, &e.mtime)
	case opRemove:
		codec.Number(c, &e.id)
		codec.Number(c, &e.mtime)
	case opReplica:
		codec.Number(c, &e.id)
		codec.Number(c, &e.replicas)
	case opQuota:
		codec.Number(c, &e.id) // 0: the quota of a user
		codec.Text(c, &e.user)
		codec.Number(c, &e.files)
		codec.Number(c, &e.bytes)
	case opGen:
		codec.Number(c, &e.gen)
	case opDrain:
		codec.Text(c, &e.name)
		c.Flags(&e.on)
	case opSnapshot:
		codec.Number(c, &e.id)
		codec.Text(c, &e.name)
		codec.Number(c, &e.mtime)
	case opRights:
		codec.Number(c, &e.id)
		rightsFields(c, &e.user, &e.group, &e.mode)
	}
}

// rightsFields codes an owner, and a group and a mode where the version has them.
func rightsFields(c *codec.Fields, user, group *string, mode *uint16) {
	if codec.Text(c, user); c.Version < 2 {
		return
	}
	codec.Text(c, group)
	if codec.Number(c, mode); *mode > allModes {
		c.Fail("has a mode that is none")
	}
}

func (e *edit) putFields(c *codec.Fields) {
	codec.Number(c, &e.id)
	codec.Number(c, &e.parent)
	codec.Text(c, &e.name)
	rightsFields(c, &e.user, &e.group, &e.mode)
	codec.Number(c, &e.mtime)
	c.Flags(&e.dir, &e.shadow)
	if c.Version < 2 {
		e.mode = oldMode(e.dir)
	}
	if e.dir {
		return
	}
	codec.Number(c, &e.replicas)
	codec.Number(c, &e.blockSize)
	codec.Text(c, &e.holder)
	codec.Text(c, &e.request)
}

// oldMode returns the mode of what comes from a version without modes.
func oldMode(dir bool) uint16 {
	if dir {
		return 0o755
	}
	return 0o644
}

// encode makes a journal record.
func encode(b []byte, edits []edit) []byte {
	c := codec.Write(append(b, recordVersion), recordVersion)
	for i := range edits {
		c.Byte(&edits[i].op)
		edits[i].fields(&c)
	}
	return c.Written()
}

// decode takes a journal record apart.
func decode(record []byte) ([]edit, error) {
	if len(record) == 0 || record[0] < 1 || record[0] > recordVersion {
		return nil, wire.Errorf(wire.Invalid, "a record of an unknown version: %.10x", record)
	}
	c := codec.Read(record[1:], record[0], maxText)
	var edits []edit
	for c.More() {
		var e edit
		if c.Byte(&e.op); e.op == 0 || e.op >= numOps {
			return nil, wire.Errorf(wire.Invalid, "a record with the unknown change %d", e.op)
		}
		e.fields(&c)
		edits = append(edits, e)
	}
	if err := c.End(); err != nil {
		return nil, wire.Errorf(wire.Corrupt, "a record that %w", err)
	}
	return edits, nil
}
