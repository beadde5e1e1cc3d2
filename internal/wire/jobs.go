package wire

import (
	"fmt"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/mapreduce"
)

// A JobID identifies a submitted job, as users type it: job-12.
type JobID string

// A TaskKind is what an attempt does.
type TaskKind string

// The kinds of task. A driver is the job's own coordinator: it plans and commits.
const (
	MapTask    TaskKind = "map"
	ReduceTask TaskKind = "reduce"
	DriverTask TaskKind = "driver"
)

// An AttemptID identifies one try of one task. Try, which includes the master's epoch, is never used twice in a
// cluster.
type AttemptID struct {
	Job   JobID    `json:"job"`
	Stage int      `json:"stage,omitempty"` // of a chain of jobs, from 0
	Kind  TaskKind `json:"kind"`
	Index int32    `json:"index"`
	Try   uint64   `json:"try"`
}

func (a AttemptID) String() string {
	return fmt.Sprintf("%s/%d/%s/%d#%d", a.Job, a.Stage, a.Kind, a.Index, a.Try)
}

// Counts are counters by group and name.
type Counts = mapreduce.Counts

// An Ended is the end of an attempt, which its worker reports until the master has confirmed it.
type Ended struct {
	ID AttemptID `json:"id"`
	// OK says that the attempt succeeded. Otherwise Lost says that the machine is to blame and not the job.
	OK       bool   `json:"ok,omitempty"`
	Lost     bool   `json:"lost,omitempty"`
	Final    bool   `json:"final,omitempty"` // trying again cannot help
	Error    string `json:"error,omitempty"`
	Millis   int64  `json:"ms,omitempty"`
	InBytes  int64  `json:"in,omitempty"`
	OutBytes int64  `json:"out,omitempty"`
	Counts   Counts `json:"counts,omitempty"`
	Skipped  int    `json:"skipped,omitempty"`
	// Sum is a hash of a map's output, or for a reduce the sum of the outputs that it has read ([MapOutput.Part]). 0
	// means unknown.
	Sum uint64 `json:"sum,omitempty"`
	// Bad are the first records that were skipped, at most MaxBad.
	Bad []BadRecord `json:"bad,omitempty"`
}

// A BadRecord is a record that was skipped.
type BadRecord = mapreduce.BadRecord

// MaxBad is how many skipped records of an attempt are listed, and MaxBadJob how many of a job.
const (
	MaxBad    = 20
	MaxBadJob = 100
)

// Progress of a running attempt, 0 to 1.
type Progress struct {
	ID     AttemptID `json:"id"`
	Done   float64   `json:"done"`
	Millis int64     `json:"ms,omitempty"` // since it began; 0 if it waits for room or the worker does not say
}

// A BadFetch is map output that a reduce could not fetch.
type BadFetch struct {
	Map AttemptID `json:"map"`
	By  AttemptID `json:"by"`
	Why string    `json:"why"`
	// Addr is where it should have been. Unreached says that nobody answered there.
	Addr      string `json:"addr,omitempty"`
	Unreached bool   `json:"unreached,omitempty"`
	// Damaged says that it arrived at least twice, whole, and its checksum was wrong each time. The word of one reduce is
	// proof then.
	Damaged bool `json:"damaged,omitempty"`
	// Slow says that it arrives, but far more slowly than from others.
	Slow bool `json:"slow,omitempty"`
}

// NetBytes counts what a worker has sent to another since it started. The peer is a name, or an address if the name
// is unknown.
type NetBytes struct {
	Peer NodeName `json:"peer"`
	What string   `json:"what"` // control, block, shuffle or circuit
	Sent int64    `json:"sent"`
}

// CircuitTraffic is the kind of map output that went through an optical circuit, bypassing the other links.
const CircuitTraffic = "circuit"

// A Circuit is what an optical switch does for a rack.
type Circuit struct {
	To         string `json:"to,omitempty"` // the rack to which a circuit is lit, or ""
	NextMillis int64  `json:"next_ms"`      // until circuits are matched again
}

// A Report is a worker's whole state, sent again and again: what runs, and what has ended without confirmation.
// Reports of one Session have rising Seq; older ones are ignored.
type Report struct {
	Node     NodeName   `json:"node"`
	Session  string     `json:"session"`
	Seq      uint64     `json:"seq"`
	Rack     string     `json:"rack"`
	Addr     string     `json:"addr"`
	Machine  string     `json:"machine,omitempty"`
	Speed    float64    `json:"speed,omitempty"` // of the emulated machine, relative to its own; 0: none is emulated
	Capacity Capacity   `json:"capacity"`
	Running  []Progress `json:"running,omitempty"`
	Ended    []Ended    `json:"ended,omitempty"`
	BadFetch []BadFetch `json:"bad_fetch,omitempty"`
	Net      []NetBytes `json:"net,omitempty"`
	Idle     float64    `json:"idle"` // of the processors, percent; negative if unknown
	// Circuit is the state of the emulated optical switch; nil if there is none, or it is left out.
	Circuit *Circuit `json:"circuit,omitempty"`
	// CPUMillis is the processor time that the worker and attempts in processes of their own have used; 0: unknown.
	CPUMillis int64  `json:"cpu_ms,omitempty"`
	Draining  bool   `json:"draining,omitempty"`
	Sick      string `json:"sick,omitempty"` // why it cannot take anything
	// Isolation is how users' code is isolated on the node: none, landlock or user.
	Isolation string `json:"isolation,omitempty"`
	// Stages lists the stages whose map output or specification is kept here.
	Stages []StageRef `json:"stages,omitempty"`
	// Held is map output on disk, in the first reports of a session and on request. It is all that exists after
	// HeldFrom up to and including HeldTo, as a worker with much output lists one stretch in each report. Nil means
	// the beginning or the end.
	Held     []HeldOutputs `json:"held,omitempty"`
	HeldFrom *HeldPlace    `json:"held_from,omitempty"`
	HeldTo   *HeldPlace    `json:"held_to,omitempty"`
	Full     bool          `json:"full,omitempty"` // Held is set
	// Fresh says that no master has answered this session yet, so others may know this node by an earlier address.
	Fresh bool `json:"fresh,omitempty"`
	// Platform is what programs the node can run, such as linux/amd64.
	Platform string `json:"platform,omitempty"`
	// Lacks lists the common loaders of that platform that the node does not have, and the shell if it has none.
	Lacks []string `json:"lacks,omitempty"`
	// Seen is the last reign of a master that the node obeyed.
	Seen Reign `json:"seen,omitzero"`
}

// A Launch tells a worker to start an attempt.
type Launch struct {
	ID       AttemptID `json:"id"`
	Split    *Split    `json:"split,omitempty"` // of a map
	Spec     *JobSpec  `json:"spec,omitempty"`  // if the worker does not know the job yet
	Number   int       `json:"number"`          // of this try among those of the task, from 0
	VCores   int32     `json:"vcores,omitempty"`
	MemoryMB int64     `json:"memory_mb,omitempty"`
}

// A Kill tells a worker to stop an attempt.
type Kill struct {
	ID  AttemptID `json:"id"`
	Why string    `json:"why"`
}

// An Answer tells a worker the result of its report. It is ignored if its Epoch is below the highest seen, or its
// Seq not above that of the last answer.
type Answer struct {
	Epoch  uint64      `json:"epoch"`
	Name   string      `json:"name,omitempty"` // of the reign
	Seq    uint64      `json:"seq"`            // of the report
	Ended  []AttemptID `json:"ended,omitempty"`
	Launch []Launch    `json:"launch,omitempty"`
	Kill   []Kill      `json:"kill,omitempty"`
	Drop   []StageRef  `json:"drop,omitempty"` // nobody needs anything of them any more
	Full   bool        `json:"full,omitempty"` // the next report must be full
}

// A StageRef names one stage of a job.
type StageRef struct {
	Job   JobID `json:"job"`
	Stage int   `json:"stage"`
}

// String also names the hidden directory of the stage's output, the same for every driver of the stage.
func (r StageRef) String() string { return fmt.Sprintf("%s-%d", r.Job, r.Stage) }

// StageInfo is what attempts of a stage share.
type StageInfo struct {
	Spec     JobSpec  `json:"spec"`
	Maps     int32    `json:"maps"`
	Reducers int32    `json:"reducers"`
	Bounds   [][]byte `json:"bounds,omitempty"`
	Work     string   `json:"work,omitempty"`
}

// A MapOutput says where the output of a map can be fetched.
type MapOutput struct {
	Map  int32    `json:"map"`
	Try  uint64   `json:"try"`
	Node NodeName `json:"node"`
	Rack string   `json:"rack"`
	Addr string   `json:"addr"`
	Lost bool     `json:"lost,omitempty"` // it cannot be fetched any more: wait for another
	Sum  uint64   `json:"sum,omitempty"`  // hash of all of it, as the map reported
	// Circuit says that the policy has released it together with so much more that it is worth an optical circuit.
	Circuit bool `json:"circuit,omitempty"`
}

// Part returns what an output adds to the sum of what a reduce reads. A map that runs again may make a different
// output. A reduce's result counts only if it read the outputs that count.
func (o *MapOutput) Part() uint64 {
	if o.Sum == 0 {
		return 0
	}
	return codec.Mix(o.Sum + codec.Mix(uint64(o.Map)))
}

// OutputsRequest asks for changes after the first From ones.
type OutputsRequest struct {
	StageRef
	From int `json:"from"`
	Wait int `json:"wait_ms,omitempty"`
	// Node is where the reduce runs. Epoch is that of the master by whose list From counts; 0 means none.
	Node  NodeName `json:"node,omitempty"`
	Epoch uint64   `json:"epoch,omitempty"`
}

// OutputsResponse lists changes in order. All says that every map now has an output.
type OutputsResponse struct {
	Changes []MapOutput `json:"changes,omitempty"`
	Next    int         `json:"next"`
	All     bool        `json:"all,omitempty"`
	Gone    bool        `json:"gone,omitempty"` // the stage has ended
	Epoch   uint64      `json:"epoch,omitempty"`
}

// A DriverStep is what a driver must do next.
type DriverStep struct {
	Do      string     `json:"do"` // wait, plan, commit, stop
	Winners []uint64   `json:"winners,omitempty"`
	Info    *StageInfo `json:"info,omitempty"`
	Counts  Counts     `json:"counts,omitempty"`
	Why     string     `json:"why,omitempty"`
	// Abort, with stop, says that the job has ended without success: remove what was written.
	Abort bool `json:"abort,omitempty"`
}

// TaskTotals counts the tasks of one kind.
type TaskTotals struct {
	Total    int     `json:"total"`
	Done     int     `json:"done"`
	Running  int     `json:"running"`
	Progress float64 `json:"progress,omitempty"` // sum of those that run
}

// JobStatus describes a job to users. Times are milliseconds since the cluster's birth.
type JobStatus struct {
	Job        JobID      `json:"job"`
	Name       string     `json:"name"`
	User       string     `json:"user"`
	Queue      string     `json:"queue,omitempty"`
	State      JobState   `json:"state"`
	Error      string     `json:"error,omitempty"`
	LastError  string     `json:"last_error,omitempty"` // of an attempt that was tried again
	Submitted  int64      `json:"submitted_ms"`
	Ended      int64      `json:"ended_ms,omitempty"`
	Stage      int        `json:"stage"`
	Stages     int        `json:"stages"`
	Maps       TaskTotals `json:"maps"`
	Reduces    TaskTotals `json:"reduces"`
	Attempts   int        `json:"attempts"`
	Retries    int        `json:"retries,omitempty"` // of Attempts, those that failed and were tried again since the master started
	Driver     string     `json:"driver,omitempty"`  // its node
	Committing bool       `json:"committing,omitempty"`
	Output     string     `json:"output,omitempty"`
	Counts     Counts     `json:"counters,omitempty"`
	// Bad are records that were skipped, at most MaxBadJob.
	Bad []BadRecord `json:"bad,omitempty"`
	// Locality counts the maps that were started on a node that has their input, in its rack, or
	// elsewhere: node, rack, remote. Those before a restart of the master are not in it.
	Locality map[string]int `json:"locality,omitempty"`
	// Figures are numbers that the policies use for this job, such as what it needs and when it will be done.
	Figures []Figure `json:"figures,omitempty"`
	// Why is the reason why a job is QUEUED.
	Why string `json:"why,omitempty"`
	// Deadline is when the job should have ended; 0: it has no goal.
	Deadline int64 `json:"deadline_ms,omitempty"`
}

// NodeStatus describes a worker to users.
type NodeStatus struct {
	Node     NodeName `json:"node"`
	Rack     string   `json:"rack"`
	Addr     string   `json:"addr"`
	State    string   `json:"state"`          // up, draining, sick, excluded, down
	Sick     string   `json:"sick,omitempty"` // why it is sick or excluded
	Capacity Capacity `json:"capacity"`
	Machine  string   `json:"machine,omitempty"` // its class, as the policies know it
	Speed    float64  `json:"speed,omitempty"`   // of the emulated machine; 0: none is emulated
	Running  int      `json:"running"`
	Silent   int64    `json:"silent_ms"`
	// Isolation is how users' code is isolated on the node: none, landlock or user.
	Isolation string `json:"isolation,omitempty"`
	// Platform and Lacks say what programs the node can run, as in Report.
	Platform string   `json:"platform,omitempty"`
	Lacks    []string `json:"lacks,omitempty"`
}

// JobsRequest asks for the jobs that the master remembers.
type JobsRequest struct {
	Active bool `json:"active,omitempty"` // only those that have not ended
	Limit  int  `json:"limit,omitempty"`  // the newest; 0 means all
}

// JobRequest names a job.
type JobRequest struct {
	Job  JobID  `json:"job"`
	Wait int    `json:"wait_ms,omitempty"` // for news of it
	Why  string `json:"why,omitempty"`
}

// Submitted answers a submission.
type Submitted struct {
	Job JobID `json:"job"`
}

// Text is a sentence for users.
type Text struct {
	Text string `json:"text"`
}

// DriverRequest is a driver's question, plan or report.
type DriverRequest struct {
	ID      AttemptID  `json:"id"`
	Wait    int        `json:"wait_ms,omitempty"`
	Plan    *StagePlan `json:"plan,omitempty"`
	Part    *PlanPart  `json:"part,omitempty"`
	Problem string     `json:"problem,omitempty"`
}

// Gossip is how a worker joins the cluster's gossip. An empty address means that there is none.
type Gossip struct {
	Addr  string `json:"addr"`
	Label string `json:"label"`
}
