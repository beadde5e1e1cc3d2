package names

import (
	"strings"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// rootID is the root directory, which is always there.
const rootID wire.FileID = 1

// noLimit is a quota without a bound.
const noLimit = -1

// An inode is a file or a directory.
type inode struct {
	id     wire.FileID
	parent *inode // nil: the root
	name   string
	owner  *account
	group  uint32 // its index in tree.groups
	mode   uint16
	mtime  int64      // milliseconds since 1970
	seq    uint64     // journal record of its last change
	dir    *directory // nil: a file
	file   *content   // nil: a directory
}

// A directory is the content of a directory.
type directory struct {
	kids    kids
	shadows map[wire.FileID]*inode // files being written that will replace an entry; nil: none
	snaps   map[string]*inode      // snapshots by name; nil: none
	use     usage                  // of all below it
	quota   quota
	seq     uint64 // journal record of the last change of an entry
}

// content is the content of a file.
type content struct {
	blocks    []*block
	size      int64 // of the finished blocks
	blockSize int64
	writing   *writing // nil: the file is closed
	crc       uint32
	hasCRC    bool
	replicas  uint8
}

// writing is the state of a file while it is open.
type writing struct {
	holder, request string
	shadow          bool // not linked: Complete puts it in the place of the file with its name
	recovering      bool // the lease was taken from the holder
}

// A block is one piece of a file. Invariant: building is nil for all blocks of a file
// but the last, and for all blocks of a closed file.
type block struct {
	wire.Block
	owner    *inode // nil: its file is deleted
	replicas []replica
	building *building
	queued   int8 // 1 + its priority in the repair queue; 0: not queued
	counted  bool // among the blocks with a replica, for safe mode
	dying    int8 // replicas that wait for deletion and could be called back
}

// A replica is a block's copy on a node. A corrupt one stays listed until enough good ones exist.
type replica struct {
	node    *node
	corrupt bool
}

// building is the state of a block while it is written or recovered.
type building struct {
	pipeline []wire.NodeName
	reported map[*node]int64 // the length on each node that has all of it at its generation

	started  time.Duration // of the recovery; 0: none
	deadline time.Duration // of this attempt
	newGen   uint64
	attempts int
	failures int
}

// usage counts what is below a directory or belongs to a user.
type usage struct {
	files, dirs, len, bytes int64
	reserved                int64 // for blocks being written
}

func (u *usage) add(d usage, sign int64) {
	u.files += sign * d.files
	u.dirs += sign * d.dirs
	u.len += sign * d.len
	u.bytes += sign * d.bytes
	u.reserved += sign * d.reserved
}

// A quota bounds files and directories, and bytes with replication. noLimit means no bound.
type quota struct{ files, bytes int64 }

// An account is what a user has and may have.
type account struct {
	name  string
	use   usage
	quota quota
	seq   uint64 // journal record of the last change of its quota
}

// own returns what an inode counts by itself.
func (i *inode) own() usage {
	if i.dir != nil {
		return usage{dirs: 1}
	}
	f := i.file
	u := usage{files: 1, len: f.size, bytes: f.size * int64(f.replicas)}
	if f.last() != nil && f.last().building != nil {
		u.reserved = f.blockSize * int64(f.replicas)
	}
	return u
}

// total returns what an inode counts with all below it.
func (i *inode) total() usage {
	u := i.own()
	if i.dir != nil {
		u.add(i.dir.use, 1)
	}
	return u
}

// last returns the last block, or nil.
func (f *content) last() *block {
	if len(f.blocks) == 0 {
		return nil
	}
	return f.blocks[len(f.blocks)-1]
}

// path returns the absolute path of i.
func (i *inode) path() string {
	if i.parent == nil {
		return "/"
	}
	var list []string
	for ; i.parent != nil; i = i.parent {
		list = append(list, i.name)
	}
	var b strings.Builder
	for n := len(list) - 1; n >= 0; n-- {
		b.WriteByte('/')
		b.WriteString(list[n])
	}
	return b.String()
}

// below reports whether i is dir or somewhere under it.
func (i *inode) below(dir *inode) bool {
	for ; i != nil; i = i.parent {
		if i == dir {
			return true
		}
	}
	return false
}

// info describes an inode to a, under the path by which it was found. It shows the checksum only to those who
// may read the file, since the checksum of a few bytes reveals them, and any checksum confirms a guess.
func (t *tree) info(a *actor, i *inode, path string) wire.FileInfo {
	fi := wire.FileInfo{Path: path, ID: i.id, ModTime: i.mtime, User: i.owner.name, Group: t.groups[i.group], Mode: i.mode, Dir: i.dir != nil}
	if f := i.file; f != nil {
		fi.Open, fi.Len, fi.Replication, fi.BlockSize = f.writing != nil, f.size, int(f.replicas), f.blockSize
		fi.Blocks = len(f.blocks)
		if f.hasCRC && t.may(a, i, read) {
			fi.CRC, fi.HasCRC = f.crc, true
		}
		if b := f.last(); b != nil && b.building != nil {
			fi.Blocks--
		}
	}
	return fi
}
