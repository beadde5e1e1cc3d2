package wire

import "github.com/millrace/millrace/internal/priority"

// A Program is the code of a job: a built-in job and its arguments, or an executable in the block store and its
// arguments.
type Program struct {
	Builtin string   `json:"builtin,omitempty"`
	Args    []string `json:"args,omitempty"`
	Exe     string   `json:"exe,omitempty"`  // path in the block store
	Hash    string   `json:"hash,omitempty"` // its SHA-256, in hexadecimal
	Files   []Side   `json:"files,omitempty"`
}

// A Side is a file that tasks find in their side directory.
type Side struct {
	Name string `json:"name"`
	Path string `json:"path"` // in the block store
	Hash string `json:"hash"`
}

// JobSpec is what a client submits.
type JobSpec struct {
	Name     string            `json:"name"`
	User     string            `json:"user"`
	Queue    string            `json:"queue,omitempty"`
	Pool     string            `json:"pool,omitempty"`
	Priority priority.Priority `json:"priority,omitempty"` // "very-low" to "very-high"
	Deadline int64             `json:"deadline_ms,omitempty"`
	Program  Program           `json:"program"`
	// Stages is how many jobs the program chains.
	Stages    int    `json:"stages"`
	Output    string `json:"output,omitempty"` // of the last stage
	Overwrite bool   `json:"overwrite,omitempty"`
	// Inputs are paths that the first stage reads, as far as the client knows. The master refuses a job at once if
	// one of them does not exist.
	Inputs []string `json:"inputs,omitempty"`
	// Attempts is how often a task is tried; 0 means the cluster's default.
	Attempts  int     `json:"attempts,omitempty"`
	Slowstart float64 `json:"slowstart,omitempty"`
	VCores    int32   `json:"vcores,omitempty"`
	MemoryMB  int64   `json:"memory_mb,omitempty"`
	// Bad is how many bad records may be skipped.
	Bad int `json:"bad,omitempty"`
	// Weight is the job's share relative to others; 0 means 1. ReduceCost is what a reduce costs, a map being 1; 0
	// means 1.
	Weight     float64 `json:"weight,omitempty"`
	ReduceCost float64 `json:"reduce_cost,omitempty"`
	// Reduce and Driver are the room of a reduce and of the driver if it differs from that of a map.
	Reduce Demand `json:"reduce,omitzero"`
	Driver Demand `json:"driver,omitzero"`
	// Recurring says that jobs of this name and user recur, so that what the history knows of them can be trusted.
	Recurring bool `json:"recurring,omitempty"`
	// Shape is how the job wants its input divided, and Expect what is known of it before it has a plan. The master
	// fills in what the client leaves out, if it can.
	Shape  Shape    `json:"shape,omitzero"`
	Expect Expected `json:"expect,omitzero"`
	// Local says with whose rights the job opens local paths: LocalNone, LocalUser or LocalWorker. The master sets
	// it and ignores what a client says.
	Local LocalRights `json:"local,omitempty"`
	// Under are the policies of the cluster when the job was submitted. The master sets them and ignores what a
	// client says.
	Under *Policies `json:"under,omitempty"`
	// Umask is the user's, for what the job creates in the block store.
	Umask Umask `json:"umask,omitempty"`
	// Request identifies a submission that is repeated.
	Request string `json:"request,omitempty"`
}

// A Demand is what one attempt takes on a node; 0 means as much as usual.
type Demand struct {
	VCores   int32 `json:"vcores,omitempty"`
	MemoryMB int64 `json:"memory_mb,omitempty"`
}

// A Shape is what a job specifies about how its input is divided: mapreduce.Shape.
type Shape struct {
	SplitBytes int64 `json:"split_bytes,omitempty"`
	Reducers   int   `json:"reducers,omitempty"`
	MapOnly    bool  `json:"map_only,omitempty"`
	Folds      bool  `json:"folds,omitempty"`
}

// Expected is what is known of a job before it has run. 0 means unknown.
type Expected struct {
	Maps         int32 `json:"maps,omitempty"`
	Reduces      int32 `json:"reduces,omitempty"`
	Input        int64 `json:"input,omitempty"` // bytes
	Shuffle      int64 `json:"shuffle,omitempty"`
	Output       int64 `json:"output,omitempty"`
	MapMillis    int64 `json:"map_ms,omitempty"` // of one map
	ReduceMillis int64 `json:"reduce_ms,omitempty"`
	InMillis     int64 `json:"in_ms,omitempty"` // of an announced job: how long after the announcement it comes
}

// LocalRights says with whose rights a job opens paths on a worker's own disk.
type LocalRights string

// The rights. A job without any may name only paths of a store that the cluster shares.
const (
	LocalNone   LocalRights = ""
	LocalUser   LocalRights = "user"   // those of its user's account on that machine
	LocalWorker LocalRights = "worker" // those of the worker
)

// A Range is a part of a file.
type Range struct {
	Path   string `json:"path"`
	Offset int64  `json:"off,omitempty"`
	Length int64  `json:"len"`
}

// A Split is the input of one map.
type Split struct {
	Input  int      `json:"input,omitempty"`
	Ranges []Range  `json:"ranges"`
	Hosts  []string `json:"hosts,omitempty"`
}

// Bytes returns how much there is to read.
func (s *Split) Bytes() (n int64) {
	for _, r := range s.Ranges {
		n += r.Length
	}
	return n
}

// A StagePlan is what a driver decided about one stage.
type StagePlan struct {
	Splits   []Split  `json:"splits"`
	Reducers int32    `json:"reducers"`
	Bounds   [][]byte `json:"bounds,omitempty"`
	Name     string   `json:"name,omitempty"`
	Work     string   `json:"work,omitempty"` // the hidden output directory
	// Parts is how many splits were sent before, for a plan that is too long for one message.
	Parts int `json:"parts,omitempty"`
}

// A PlanPart is some splits of a long plan of Total splits, starting with First.
type PlanPart struct {
	First  int     `json:"first"`
	Total  int     `json:"total"`
	Splits []Split `json:"splits"`
}

// Planned is the answer to a plan or a part: how many splits have arrived. The driver continues from there.
type Planned struct {
	Next int `json:"next"`
}
