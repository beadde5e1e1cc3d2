package names

import (
	"github.com/millrace/millrace/internal/wire"
)

// recordVersion is the first byte of every journal record.
const recordVersion = 1

// What an edit does. Numbers are stored: append only.
const (
	opPut     byte = 1 + iota // a new file or directory
	opBlock                   // a block of an open file is added or changed
	opDrop                    // the last block of an open file is dropped
	opClose                   // a file is closed; a shadow takes its name
	opHold                    // the lease of an open file is taken for recovery
	opMove                    // another name
	opRemove                  // a file or directory is gone, with all below it
	opReplica                 // another replication
	opQuota                   // of a directory, or of a user
	opGen                     // generations up to this one are used
	opDrain                   // a node is to be emptied, or no longer
	numOps
)

// An edit is one physical change. A journal record is a list of them, made as one.
type edit struct {
	op                          byte
	id, parent                  wire.FileID
	name, user, holder, request string
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

// fields describes each kind of edit to a coder.
func (e *edit) fields(c *coder) {
	switch e.op {
	case opPut:
		e.putFields(c)
	case opBlock:
		num(c, &e.id)
		num(c, &e.index)
		c.block(&e.block)
		c.flags(&e.on) // finished
		c.names(&e.pipeline)
	case opDrop, opHold:
		num(c, &e.id)
	case opClose:
		num(c, &e.id)
		num(c, &e.mtime)
		num(c, &e.crc)
		c.flags(&e.on) // the checksum is known
	case opMove:
		num(c, &e.id)
		num(c, &e.parent)
		c.text(&e.name)
		num(c, &e.mtime)
	case opRemove:
		num(c, &e.id)
		num(c, &e.mtime)
	case opReplica:
		num(c, &e.id)
		num(c, &e.replicas)
	case opQuota:
		num(c, &e.id) // 0: of the user
		c.text(&e.user)
		num(c, &e.files)
		num(c, &e.bytes)
	case opGen:
		num(c, &e.gen)
	case opDrain:
		c.text(&e.name)
		c.flags(&e.on)
	}
}

func (e *edit) putFields(c *coder) {
	num(c, &e.id)
	num(c, &e.parent)
	c.text(&e.name)
	c.text(&e.user)
	num(c, &e.mtime)
	c.flags(&e.dir, &e.shadow)
	if e.dir {
		return
	}
	num(c, &e.replicas)
	num(c, &e.blockSize)
	c.text(&e.holder)
	c.text(&e.request)
}

// encode makes a journal record.
func encode(b []byte, edits []edit) []byte {
	c := coder{b: append(b, recordVersion)}
	for i := range edits {
		c.byte(&edits[i].op)
		edits[i].fields(&c)
	}
	return c.b
}

// decode takes a journal record apart.
func decode(record []byte) ([]edit, error) {
	if len(record) == 0 || record[0] != recordVersion {
		return nil, wire.Errorf(wire.Invalid, "a record of an unknown version: %.10x", record)
	}
	c := coder{b: record[1:], read: true}
	var edits []edit
	for len(c.b) > 0 && c.err == nil {
		var e edit
		if c.byte(&e.op); e.op == 0 || e.op >= numOps {
			return nil, wire.Errorf(wire.Invalid, "a record with the unknown change %d", e.op)
		}
		e.fields(&c)
		edits = append(edits, e)
	}
	if c.err != nil {
		return nil, wire.Errorf(wire.Corrupt, "a record that %w", c.err)
	}
	return edits, nil
}
