package task

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/storage"
)

// An Env is what attempts need from the process they run in.
type Env struct {
	Store storage.Mux
	// Scratch is a directory for spills, owned by the caller. Attempts remove what they put there, except map
	// output, which [MapResult] returns.
	Scratch string
	// ScratchFS is the file system of Scratch; nil means the disk.
	ScratchFS shuffle.FS
	// Pool bounds the memory of all attempts that share it.
	Pool *shuffle.Pool
	// Compression of spills and map output.
	Compression shuffle.Compression
	// KeepInMemory lets map output stay in the pool while there is room.
	KeepInMemory bool
	// MaxRecord bounds one record in bytes, unless the job sets its own bound.
	MaxRecord int
	// MergeFactor is how many runs are merged, and files open, at once. 0 leaves
	// it to the shuffle.
	MergeFactor int
	// Silence is how long user code of an attempt may go without a sign of life (see [mapreduce.Task.Alive]) before
	// the attempt fails. 0 means forever.
	Silence time.Duration
	// Pace, if set, makes attempts slower.
	Pace *Pace
	// SideDir holds the job's side files under their base names.
	SideDir string
}

func (e *Env) maxRecord(job *mapreduce.Job) int {
	if job.MaxRecordBytes > 0 {
		return job.MaxRecordBytes
	}
	return e.MaxRecord
}

// giants returns what reserves room for a giant record.
func (a *attempt) giants() func(bytes int64) (func(), error) {
	pool := a.env.Pool
	if pool == nil {
		return nil
	}
	return func(bytes int64) (func(), error) { return pool.Giant(a.ctx, bytes) }
}

// A Meter counts what an attempt has done so far. Progress displays read it while the attempt runs. The zero Meter
// is ready.
type Meter struct {
	Bytes   atomic.Int64 // of input read, or of map output merged
	Records atomic.Int64
}

// ID names an attempt.
type ID struct {
	Kind    mapreduce.Kind
	Index   int
	Attempt int // number of this try of the task, from 0
	// Try, if not 0, identifies the attempt among all attempts of a cluster.
	Try uint64
}

// unique distinguishes the attempts of one task in the names of their files.
func (id ID) unique() string {
	if id.Try != 0 {
		return strconv.FormatUint(id.Try, 10)
	}
	return strconv.Itoa(id.Attempt)
}

func (e *Env) newTask(a *attempt) *mapreduce.Task {
	return mapreduce.NewTask(a.ctx, mapreduce.TaskInfo{
		Job: a.job.Name, Kind: a.id.Kind, Index: a.id.Index, Attempt: a.id.Attempt,
		Reduces: a.plan.Reducers, MaxRecord: e.maxRecord(a.job), Params: a.job.Params, SideDir: e.SideDir,
	}, &a.counters)
}
