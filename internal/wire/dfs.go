package wire

import (
	"fmt"
	"path"
)

// A BlockID identifies a block forever; ids are never used twice in a cluster.
type BlockID uint64

func (b BlockID) String() string { return fmt.Sprintf("blk_%016x", uint64(b)) }

// A FileID identifies a file or directory forever, whatever its name.
type FileID uint64

// A NodeName is the name under which a worker registers; it outlives restarts.
type NodeName string

// A Block is one piece of a file at one generation. A replica with a lower generation
// than the name service knows is out of date and is never read.
type Block struct {
	ID  BlockID `json:"id"`
	Gen uint64  `json:"gen"`
	Len int64   `json:"len"`
}

// MaxBlock is the maximum size of a block: workers reserve space for one as it is written, and copy it as a whole.
const MaxBlock = 1 << 30

// A Place is where a replica is, or should go.
type Place struct {
	Node NodeName `json:"node"`
	Rack string   `json:"rack"`
	Addr string   `json:"addr"` // of the block service
}

// A LocatedBlock is a block, its offset in the file, and the nodes that have it, nearest to the caller first.
type LocatedBlock struct {
	Block
	Off    int64   `json:"off"`
	Places []Place `json:"places"`
	Token  string  `json:"token,omitempty"` // lets the caller read it
}

// FileInfo describes a file or directory.
type FileInfo struct {
	Path        string `json:"path"`
	ID          FileID `json:"id"`
	Dir         bool   `json:"dir,omitempty"`
	Open        bool   `json:"open,omitempty"` // being written; Len counts finished blocks only
	Len         int64  `json:"len"`
	Replication int    `json:"replication,omitempty"`
	BlockSize   int64  `json:"block_size,omitempty"`
	Blocks      int    `json:"blocks,omitempty"`
	ModTime     int64  `json:"mod_time"` // milliseconds since 1970
	User        string `json:"user,omitempty"`
	Group       string `json:"group,omitempty"`
	Mode        uint16 `json:"mode"` // as chmod has it: 0644, and 01000 for the sticky bit
	// CRC is the CRC32C of the content. HasCRC is false if the writer died, so that nobody knows it, and if the
	// caller may not read the file.
	CRC    uint32 `json:"crc,omitempty"`
	HasCRC bool   `json:"has_crc,omitempty"`
}

// CreateRequest opens a new file for writing.
type CreateRequest struct {
	Path        string `json:"path"`
	User        string `json:"user"`
	Holder      string `json:"holder"` // of the lease: a name the client made up, unique to it
	Replication int    `json:"replication,omitempty"`
	BlockSize   int64  `json:"block_size,omitempty"`
	Overwrite   bool   `json:"overwrite,omitempty"` // the old file stays readable until Complete replaces it
	Parents     bool   `json:"parents,omitempty"`   // make missing directories
	Request     string `json:"request,omitempty"`   // a repeated request makes only one file
	Umask       Umask  `json:"umask,omitempty"`
	Super       bool   `json:"-"` // the server knows that the caller may do everything
}

// CreateResponse is the created file, with defaults filled in.
type CreateResponse struct {
	File FileInfo `json:"file"`
}

// AddBlockRequest asks for the next block of an open file. Previous, if set, is the block just finished, with its
// final length, and Stored the nodes that acknowledged it.
type AddBlockRequest struct {
	File     FileID     `json:"file"`
	Holder   string     `json:"holder"`
	Writer   NodeName   `json:"writer,omitempty"` // the node the client runs on, if it is one of ours
	Previous *Block     `json:"previous,omitempty"`
	Stored   []NodeName `json:"stored,omitempty"`
	Exclude  []NodeName `json:"exclude,omitempty"` // nodes that just failed this client
	Hints    []string   `json:"hints,omitempty"`   // racks that a plan wants
	By       string     `json:"-"`                 // who must own the file, if the server knows who calls
}

// A Pipeline is a block to be written and the nodes to write it through, in order.
type Pipeline struct {
	Block  Block   `json:"block"`
	Places []Place `json:"places"`
	Token  string  `json:"token,omitempty"` // lets the client write it at this generation
}

// BumpRequest asks for a new generation of a block whose pipeline broke. Alive are the nodes that still have its
// first Acked bytes.
type BumpRequest struct {
	File    FileID     `json:"file"`
	Holder  string     `json:"holder"`
	Block   Block      `json:"block"`
	Alive   []NodeName `json:"alive"`
	Exclude []NodeName `json:"exclude,omitempty"`
	By      string     `json:"-"`
}

// CompleteRequest closes a file. From then on it is visible and cannot change.
type CompleteRequest struct {
	File   FileID     `json:"file"`
	Holder string     `json:"holder"`
	Last   *Block     `json:"last,omitempty"`
	Stored []NodeName `json:"stored,omitempty"`
	CRC    uint32     `json:"crc"`
	By     string     `json:"-"`
}

// PathRequest names one file or directory.
type PathRequest struct {
	Path  string `json:"path"`
	User  string `json:"user,omitempty"`
	Super bool   `json:"-"`
}

// LeaseRequest renews all leases of a holder, or gives up one file.
type LeaseRequest struct {
	Holder string `json:"holder"`
	File   FileID `json:"file,omitempty"`
	By     string `json:"-"`
}

// ListRequest asks for a page of a directory, sorted by name, after a given name.
type ListRequest struct {
	Path  string `json:"path"`
	User  string `json:"user,omitempty"`
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"` // 0 means 1,000
	Super bool   `json:"-"`
}

// ListResponse is one page; More says that another follows.
type ListResponse struct {
	Entries []FileInfo `json:"entries"`
	More    bool       `json:"more,omitempty"`
}

// Names returns the names of the page's entries, without their directory.
func (l *ListResponse) Names() (out []string) {
	for i := range l.Entries {
		out = append(out, path.Base(l.Entries[i].Path))
	}
	return out
}

// LocateRequest asks where the bytes [Off, Off+Len) of a file are; Len -1 means to the end. "Nearest" is measured
// from Reader, if it is one of our nodes.
type LocateRequest struct {
	Path   string   `json:"path"`
	User   string   `json:"user,omitempty"`
	Off    int64    `json:"off,omitempty"`
	Len    int64    `json:"len"`
	Reader NodeName `json:"reader,omitempty"`
	// Count bounds the answer; 0 means 1,000 blocks. A reader asks again for the rest.
	Count int  `json:"count,omitempty"`
	Super bool `json:"-"`
}

// LocateResponse is the file and its blocks that overlap the range.
type LocateResponse struct {
	File   FileInfo       `json:"file"`
	Blocks []LocatedBlock `json:"blocks"`
}

// MkdirRequest makes a directory and, with Parents, those above it; with Parents an
// existing directory is no error.
type MkdirRequest struct {
	Path    string `json:"path"`
	User    string `json:"user"`
	Parents bool   `json:"parents,omitempty"`
	Umask   Umask  `json:"umask,omitempty"`
	Super   bool   `json:"-"`
}

// RenameRequest moves a file or directory. With Replace a file at To is replaced in the
// same step.
type RenameRequest struct {
	From    string `json:"from"`
	To      string `json:"to"`
	User    string `json:"user"`
	Replace bool   `json:"replace,omitempty"` // replace a file at the new name
	Tree    bool   `json:"tree,omitempty"`    // replace a directory by a directory, with all below it
	Super   bool   `json:"-"`
}

// RenameAllRequest moves files, each in a step of its own that replaces a file at its new name.
type RenameAllRequest struct {
	Moves []Move `json:"moves"`
	User  string `json:"user"`
	Super bool   `json:"-"`
}

// A Move is a new name for a file.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// DeleteRequest removes a file, or with Recursive a directory and what is below it.
type DeleteRequest struct {
	Path      string `json:"path"`
	User      string `json:"user"`
	Recursive bool   `json:"recursive,omitempty"`
	Trash     bool   `json:"trash,omitempty"` // move it to the user's trash instead
	Super     bool   `json:"-"`
}

// SetRightsRequest changes who owns a file or directory and who may use it. Empty and negative values leave things
// as they are.
type SetRightsRequest struct {
	Path  string `json:"path"`
	User  string `json:"user"`
	Owner string `json:"owner,omitempty"`
	Group string `json:"group,omitempty"`
	Mode  int    `json:"mode"`
	Super bool   `json:"-"`
}

// SnapshotRequest makes a snapshot of a directory, or with Remove removes it.
type SnapshotRequest struct {
	Path   string `json:"path"`
	Name   string `json:"name"`
	User   string `json:"user"`
	Remove bool   `json:"remove,omitempty"`
	Super  bool   `json:"-"`
}

// SetReplicationRequest changes how many copies a file should have.
type SetReplicationRequest struct {
	Path        string `json:"path"`
	User        string `json:"user"`
	Replication int    `json:"replication"`
	Super       bool   `json:"-"`
}

// QuotaRequest limits what is below a directory (Path), or what a user owns (Of). Negative means no limit.
type QuotaRequest struct {
	Path  string `json:"path,omitempty"`
	Of    string `json:"of,omitempty"`
	User  string `json:"user"`
	Files int64  `json:"files"` // files and directories
	Bytes int64  `json:"bytes"` // content length times replication
	// KeepFiles and KeepBytes keep that limit and ignore Files or Bytes.
	KeepFiles bool `json:"keep_files,omitempty"`
	KeepBytes bool `json:"keep_bytes,omitempty"`
	Super     bool `json:"-"`
}

// Usage is what a directory or user has and may have.
type Usage struct {
	Files      int64 `json:"files"`
	Dirs       int64 `json:"dirs"`
	Len        int64 `json:"len"`
	Bytes      int64 `json:"bytes"` // with replication
	QuotaFiles int64 `json:"quota_files"`
	QuotaBytes int64 `json:"quota_bytes"`
}
