package wire

import "time"

// A Volume is one data directory of a worker.
type Volume struct {
	ID     string `json:"id"`
	Total  int64  `json:"total"`
	Free   int64  `json:"free"` // after the reserve
	Failed string `json:"failed,omitempty"`
}

// A Reign is one start of a master. Its epoch is above those of all starts on the same directory before; its name is
// drawn, so that starts on copies of the directory differ.
type Reign struct {
	Epoch uint64 `json:"epoch"`
	Name  string `json:"name,omitempty"` // empty: of a version that had none
}

// RegisterRequest introduces a block service. Cluster is empty on a node that never belonged to one; the answer says
// which one it has joined.
type RegisterRequest struct {
	Node    NodeName `json:"node"`
	Rack    string   `json:"rack"`
	Addr    string   `json:"addr"`
	Machine string   `json:"machine,omitempty"` // machine type, for hybrid placement
	Cluster string   `json:"cluster,omitempty"`
	Volumes []Volume `json:"volumes"`
	Blocks  int64    `json:"blocks"`        // how many will be reported
	Seen    Reign    `json:"seen,omitzero"` // the last that the node obeyed
}

// RegisterResponse gives the node its place in the cluster. Commands with a lower epoch than the highest seen come
// from a replaced master and must be refused.
type RegisterResponse struct {
	Cluster string `json:"cluster"`
	Epoch   uint64 `json:"epoch"`
	Name    string `json:"name,omitempty"` // of its reign
	// Session changes with each registration. Reports of an older one are refused.
	Session uint64     `json:"session"`
	Keys    []BlockKey `json:"keys,omitempty"`
}

// A BlockKey verifies block tokens. Age is how long ago it was made, and Life the age from which nothing that it
// signed is valid.
type BlockKey struct {
	ID     uint64        `json:"id"`
	Secret []byte        `json:"secret"`
	Age    time.Duration `json:"age"`
	Life   time.Duration `json:"life"`
}

// ReportRequest is part of a full block report. The pages of one report come in order. After the Last one the name
// service forgets replicas of this node that were not in it.
type ReportRequest struct {
	Node    NodeName `json:"node"`
	Session uint64   `json:"session"`
	Page    int      `json:"page"`
	Last    bool     `json:"last"`
	Blocks  []Block  `json:"blocks"`
}

// BeatRequest is a block service's beat: what has changed since the last answered one. Deleted is applied before
// Received.
type BeatRequest struct {
	Node     NodeName    `json:"node"`
	Session  uint64      `json:"session"`
	Volumes  []Volume    `json:"volumes"`
	Received []Block     `json:"received,omitempty"`
	Deleted  []Block     `json:"deleted,omitempty"`
	Corrupt  []BadBlock  `json:"corrupt,omitempty"`
	Failed   []DoneWork  `json:"failed,omitempty"` // commands that could not be carried out
	Done     []Recovered `json:"done,omitempty"`   // finished block recoveries
	Key      uint64      `json:"key,omitempty"`    // the newest block key that the node knows
	Seen     Reign       `json:"seen,omitzero"`    // the last that the node obeyed
}

// A BadBlock is a replica that failed its checksum and is quarantined.
type BadBlock struct {
	Block
	Why string `json:"why"`
}

// DoneWork is a copy command that failed, and why.
type DoneWork struct {
	Block  Block    `json:"block"`
	Target NodeName `json:"target"`
	Why    string   `json:"why"`
}

// Recovered is a block whose replicas were brought to one length and generation.
type Recovered struct {
	Block  Block      `json:"block"`
	Stored []NodeName `json:"stored"`
	// CRC is the checksum of the file up to the end of this block. HasCRC is set if all blocks before it could be
	// read.
	CRC    uint32 `json:"crc,omitempty"`
	HasCRC bool   `json:"has_crc,omitempty"`
}

// BeatResponse tells the node what to do.
type BeatResponse struct {
	Epoch   uint64        `json:"epoch"`
	Name    string        `json:"name,omitempty"` // of the reign
	Delete  []Block       `json:"delete,omitempty"`
	Copy    []CopyWork    `json:"copy,omitempty"`
	Recover []RecoverWork `json:"recover,omitempty"`
	// Report asks for a full block report. Register says that the name service does not know this session.
	Report   bool `json:"report,omitempty"`
	Register bool `json:"register,omitempty"`
	// Keys are sent to nodes that lack the newest.
	Keys []BlockKey `json:"keys,omitempty"`
}

// CopyWork asks a node to send its replica to others, each of which keeps a copy.
type CopyWork struct {
	Block   Block   `json:"block"`
	Targets []Place `json:"targets"`
	Token   string  `json:"token,omitempty"` // to write it at the targets
}

// RecoverWork asks a node to bring the replicas of an abandoned block to one length under NewGen: that of a finished
// one, else the shortest that is not empty.
type RecoverWork struct {
	Block  Block   `json:"block"`
	NewGen uint64  `json:"new_gen"`
	Places []Place `json:"places"`
	Token  string  `json:"token,omitempty"` // to write it at NewGen
	// Sum asks for the file's checksum. Before are its other blocks.
	Sum    bool           `json:"sum,omitempty"`
	Before []LocatedBlock `json:"before,omitempty"`
}

// SafeModeRequest asks about safe mode, or with Set "enter" or "leave" changes it.
type SafeModeRequest struct {
	Set  string `json:"set,omitempty"`
	User string `json:"user,omitempty"`
}

// SafeMode says whether the name service only answers reads of names, and why.
type SafeMode struct {
	On       bool    `json:"on"`
	Manual   bool    `json:"manual,omitempty"`
	Reported float64 `json:"reported"` // share of blocks with a copy
	Why      string  `json:"why,omitempty"`
}

// DrainRequest takes a node out of service without losing a replica, or back into it.
type DrainRequest struct {
	Node  NodeName `json:"node"`
	User  string   `json:"user,omitempty"`
	Undo  bool     `json:"undo,omitempty"`
	Force bool     `json:"force,omitempty"`
}

// A StoreNode is what the name service knows about one node.
type StoreNode struct {
	Place
	Machine string   `json:"machine,omitempty"`
	State   string   `json:"state"` // live, dead, draining, drained
	Left    int64    `json:"left"`  // blocks still to copy away while draining
	Blocks  int64    `json:"blocks"`
	Volumes []Volume `json:"volumes"`
}

// FsckRequest asks for the health of everything below a path, a page at a time.
type FsckRequest struct {
	Path  string `json:"path"`
	User  string `json:"user,omitempty"`
	After string `json:"after,omitempty"` // path of the last file of the previous page
	Limit int    `json:"limit,omitempty"`
	All   bool   `json:"all,omitempty"` // healthy files too
	Super bool   `json:"-"`
}

// A FsckFile is one file's health.
type FsckFile struct {
	Path    string      `json:"path"`
	Len     int64       `json:"len"`
	Status  string      `json:"status"` // healthy, open, under, over, misplaced, corrupt, missing
	Blocks  []FsckBlock `json:"blocks,omitempty"`
	Problem string      `json:"problem,omitempty"`
}

// A FsckBlock is one block's health. Healthy blocks are left out unless all are asked for.
type FsckBlock struct {
	Block
	Want    int        `json:"want"`
	Live    []NodeName `json:"live"`
	Corrupt []NodeName `json:"corrupt,omitempty"`
	Racks   int        `json:"racks"`
}

// FsckResponse is a page of the report. The counts are those of the page.
type FsckResponse struct {
	Files   []FsckFile `json:"files"`
	Scanned int64      `json:"scanned"`
	Blocks  int64      `json:"blocks"`
	Bytes   int64      `json:"bytes"`
	Under   int64      `json:"under"`
	Over    int64      `json:"over"`
	Missing int64      `json:"missing"`
	Corrupt int64      `json:"corrupt"`
	More    bool       `json:"more,omitempty"`
	Last    string     `json:"last,omitempty"`
}

// BalanceRequest starts or stops moving replicas from full nodes to empty ones. With an empty Set it asks for the
// status.
type BalanceRequest struct {
	Set  string `json:"set,omitempty"` // start, stop
	User string `json:"user,omitempty"`
	// Threshold is how far a node may be from the mean share of used bytes; 0 means 0.1.
	Threshold float64 `json:"threshold,omitempty"`
}

// BalanceStatus describes balancing. It stops by itself when all nodes are within the threshold or nothing can be
// moved.
type BalanceStatus struct {
	Running bool    `json:"running"`
	Mean    float64 `json:"mean"`  // share of used bytes
	Worst   float64 `json:"worst"` // largest distance from it
	Moved   int64   `json:"moved"` // replicas since the start
	Bytes   int64   `json:"bytes"`
	Why     string  `json:"why,omitempty"` // why it stopped
}

// BlockRequest asks a node for something about a block, with a token for it.
type BlockRequest struct {
	Block Block  `json:"block"`
	Token string `json:"token,omitempty"`
}

// Replica is what a node has of a block.
type Replica struct {
	Block
	Finished bool `json:"finished"`
}

// BlockSum is the checksum of a replica's data.
type BlockSum struct {
	CRC uint32 `json:"crc"`
}

// LocalBlock is the path of a replica on the machine of its node.
type LocalBlock struct {
	Path string `json:"path"`
}
