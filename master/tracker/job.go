package tracker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/program"
	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A State is how far a job has come. Comparison means progress.
type State uint8

// The states of a job.
const (
	Queued    State = iota // waits for admission, a driver or a plan
	Running                // its tasks are known
	Succeeded              // its output is there, whole
	Failed                 // by its own fault; no output
	Cancelled              // somebody asked for it; no output
)

// Ended reports whether nothing more happens to the job.
func (s State) Ended() bool { return s >= Succeeded }

// Public returns the state as users see it.
func (s State) Public() wire.JobState { return wire.JobStates[min(s, Cancelled)] }

func (s State) String() string { return string(s.Public()) }

// A job is one submission.
type job struct {
	id                 wire.JobID
	num                int64
	spec               wire.JobSpec
	state              State
	held               bool // its user already has as many jobs as may run: the policies do not know this one yet
	submitted, endedAt time.Duration
	stages             []*stage
	err                string
	counts             wire.Counts
	bad                []wire.BadRecord            // records that were skipped, at most wire.MaxBadJob
	tries              int                         // attempts begun
	retries            int                         // of these, failures that were or will be tried again
	noted              int                         // how many attempts the records tell of
	lastTry            uint64                      // the highest try among those
	written            uint64                      // lastTry as the masters before this one left it
	near               [scheduler.Anywhere + 1]int // maps begun, by where their input is
	committed          wire.AttemptID              // the driver under which it succeeded, as far as this master has seen it
}

// A stage is one link of a job's chain. For the policies each is a job of its own.
type stage struct {
	job   *job
	n     int
	sid   scheduler.JobID // -1 until the policies know it
	since time.Duration
	plan  *plan
	draft *draft // a plan that comes in parts
	kept  bool   // a record mentions the stage

	maps, reduces []task   // nil when the stage is over
	total         [2]int32 // maps and reduces of the plan
	doneCount     [2]int32
	running       map[*attempt]bool
	busy          [2]int32 // those with a running attempt
	changes       []change // of map output, for reduces
	told          int      // how many changes some reduce has been sent
	outlets       map[topology.RackID]*outlet
	sum           uint64 // over the last output of all maps
	ready         bool   // all nodes have been offered since reduces could start
	committing    bool   // all tasks are done; the driver gives the output its name
	done          bool
	doneAt        time.Duration
	lesson        *scheduler.Lesson // what the stage has taught
	skipped       int
	driverFails   int
	driverLosses  int
	fails         map[topology.NodeID]int
	banned        int
	fetch         map[int32]*trouble                                    // outputs that reduces could not fetch
	blames        map[topology.NodeID]map[topology.NodeID]time.Duration // by source: nodes whose reduces could not fetch from it, and when that was last
	rerun         map[int32]wire.AttemptID                              // the reduce at whose word alone a map last ran again
	away          map[int32]uint64                                      // attempts whose output was given up with their nodes
	lastError     string
	gauged        float64 // progress that the policies know, percent
}

// A task is one map or reduce.
type task struct {
	try      uint64        // the attempt whose result counts; 0: none yet
	at       time.Duration // when that result came
	in, out  int64
	node     topology.NodeID // where that result is
	millis   int32
	failures uint8 // failures by the job's fault
	losses   uint8 // failures by a machine's fault
	live     uint8 // running attempts, so that nobody has to search them all
	tries    uint16
	counted  bool   // the job's counters include the task's
	sum      uint64 // of a map: hash of its last output, even if lost; of a reduce: hash of what it has read
}

// A change is a map output that appeared, or, with try 0, disappeared.
type change struct {
	index   int32
	circuit bool // it was released in a batch that is large enough for a circuit
	try     uint64
}

func kindIndex(k wire.TaskKind) int {
	if k == wire.ReduceTask {
		return 1
	}
	return 0
}

func (st *stage) tasks(k wire.TaskKind) []task {
	switch k {
	case wire.MapTask:
		return st.maps
	case wire.ReduceTask:
		return st.reduces
	}
	return nil
}

func (st *stage) complete() bool {
	return st.plan != nil && st.doneCount == st.total
}

func (j *job) current() *stage {
	if len(j.stages) == 0 {
		return nil
	}
	return j.stages[len(j.stages)-1]
}

// Requested is the job that a submission has become already, or "".
func (c *Tracker) Requested(spec *wire.JobSpec) wire.JobID {
	return c.requests[spec.User+"\x00"+spec.Request]
}

// Machines describes what the workers that are up can run, without doubles.
func (c *Tracker) Machines() (out []program.Machine) {
	for _, n := range c.nodes {
		if n.up && !slices.ContainsFunc(out, n.runs.Equal) {
			out = append(out, n.runs)
		}
	}
	return out
}

// Submit accepts a job, or says why not. The same request submitted twice is the same job.
func (c *Tracker) Submit(now time.Duration, spec wire.JobSpec) (wire.JobID, error) {
	if id := c.Requested(&spec); id != "" && spec.Request != "" {
		return id, nil
	}
	if err := cmp.Or(c.check(&spec), c.checkUser(now, spec.User)); err != nil {
		return "", err
	}
	c.recur(&spec)
	c.expect(&spec)
	if err := c.checkFit(now, &spec); err != nil {
		return "", err
	}
	id := wire.JobID(fmt.Sprintf("job-%d", c.lastJob+1))
	for _, r := range appendText(nil, now, c.jobs[wire.JobID(fmt.Sprintf("job-%d", c.lastJob))], &spec) {
		c.note(r)
	}
	c.note(Record{At: now, Kind: Submitted, Job: id, Spec: &spec})
	c.start(now, c.jobs[id])
	c.admit(now)
	return id, nil
}

func (c *Tracker) check(s *wire.JobSpec) error {
	bad := func(format string, args ...any) error { return wire.Errorf(wire.Invalid, format, args...) }
	switch {
	case s.Program.Builtin == "" && s.Program.Exe == "":
		return bad("the job has no program: give a built-in job or an executable")
	case s.User == "":
		return bad("the job has no user")
	case s.Stages < 1 || s.Stages > 100:
		return bad("a chain of %d jobs: must be 1 to 100", s.Stages)
	case !s.Priority.Valid():
		return bad("%v is not between %v and %v", s.Priority, scheduler.VeryLow, scheduler.VeryHigh)
	case s.Slowstart > 1:
		return bad("slow start %g: must be at most 1", s.Slowstart)
	case s.Attempts < 0 || s.Attempts > 100:
		return bad("%d attempts: must be 1 to 100", s.Attempts)
	case c.unfinished() >= c.cfg.MaxJobs:
		return wire.Errorf(wire.Quota, "%d jobs are unfinished, the most this master takes; try again later", c.unfinished())
	}
	for what, name := range map[string]string{"name": s.Name, "user": s.User, "queue": s.Queue, "pool": s.Pool} {
		if len(name) > wire.MaxName {
			return bad("%s of %d bytes: at most %d", what, len(name), wire.MaxName)
		}
	}
	if _, err := s.Umask.Bits(0); err != nil {
		return err
	}
	return c.checkHints(s)
}

func (c *Tracker) unfinished() int { return len(c.jobs) - len(c.ended) }

// begin starts the next stage of a job and tells the policies of it as a job of its own.
func (c *Tracker) begin(now time.Duration, j *job) {
	if st := j.current(); st == nil || st.done {
		j.addStage(now)
	}
	c.introduce(now, j.current())
}

func (j *job) addStage(since time.Duration) {
	j.stages = append(j.stages, &stage{job: j, n: len(j.stages), sid: -1, since: since})
}

// since returns when the next stage begins, as far as records say: with the job, or at the end of the stage before.
func (j *job) since() time.Duration {
	if st := j.current(); st != nil {
		return st.doneAt
	}
	return j.submitted
}

// introduce tells the policies about a stage.
func (c *Tracker) introduce(now time.Duration, st *stage) {
	c.tellLimit(now, c.userNamed(st.job.spec.User))
	c.lastSID++
	st.sid, st.running = c.lastSID, map[*attempt]bool{}
	st.fails, st.fetch, st.rerun = map[topology.NodeID]int{}, map[int32]*trouble{}, map[int32]wire.AttemptID{}
	st.blames = map[topology.NodeID]map[topology.NodeID]time.Duration{}
	c.stages[st.sid] = st
	c.feed(now, scheduler.JobReturned(c.specOf(st, st.since)))
}

// specOf returns a stage as the policies see it.
func (c *Tracker) specOf(st *stage, now time.Duration) *scheduler.JobSpec {
	s := &st.job.spec
	room := demands(s)
	spec := &scheduler.JobSpec{
		ID: st.sid, Name: stageName(s.Name, s.Stages, st.n), User: s.User, Queue: s.Queue, Pool: s.Pool, Priority: s.Priority,
		Submit: now, HasDriver: true, Slowstart: s.Slowstart,
		Weight: s.Weight, ReduceCostRatio: s.ReduceCost, Recurring: s.Recurring,
		MapDemand: room[scheduler.Map], ReduceDemand: room[scheduler.Reduce], DriverDemand: room[scheduler.Driver],
	}
	if s.Deadline > 0 {
		spec.Deadline = st.job.submitted + time.Duration(s.Deadline)*time.Millisecond
	}
	hint(spec, st)
	if st.plan != nil {
		c.planned(spec, st)
	}
	if s.Recurring && s.Stages > 1 {
		c.recall(spec)
	}
	return spec
}

// planned adds to spec what the driver of a stage has found.
func (c *Tracker) planned(spec *scheduler.JobSpec, st *stage) {
	spec.Maps, spec.Reduces = st.total[0], st.total[1]
	if st.made() {
		spec.Input = sizeOf(st.job.spec.Expect.Input)
		return
	}
	spec.Splits, spec.Input = c.placesOf(&st.plan.splits), sizeOf(st.plan.splits.bytes)
}

// made reports whether maps make what they read, so that no input says how much that is.
func (st *stage) made() bool { return st.plan != nil && st.plan.splits.bytes == 0 }

// read returns how much a task has read, as policies see it. If maps make their input, it is the map's share of what
// was expected, as in planned.
func (st *stage) read(k scheduler.Kind, bytes int64) int64 {
	if k == scheduler.Map && st.made() {
		return st.job.spec.Expect.Input / int64(max(st.total[0], 1))
	}
	return bytes
}

// failJob ends a job by its own fault.
func (c *Tracker) failJob(now time.Duration, j *job, why string) { c.endJob(now, j, Failed, why) }

// Kill ends a job because somebody asked for it.
func (c *Tracker) Kill(now time.Duration, id wire.JobID, why string) error {
	j := c.jobs[id]
	if j == nil {
		return c.unknown(id)
	}
	if st := j.current(); !j.state.Ended() && st != nil && st.committing && st.n+1 == j.spec.Stages {
		// Its driver may have committed already: then a cancelled job would have an output.
		return wire.Errorf(wire.Invalid, "%s is giving its output its name: it is too late to cancel it", id)
	}
	if !j.state.Ended() {
		c.endJob(now, j, Cancelled, why)
	}
	return nil
}

func (c *Tracker) unknown(id wire.JobID) error {
	id = wire.JobID(wire.Clip(string(id), wire.MaxName)) // the search is in the loop: a long id would hold up other calls
	if !strings.HasPrefix(string(id), "job-") {
		return wire.Errorf(wire.Invalid, "%q is no job's id%s (they look like job-12)", id, c.meant(id))
	}
	return wire.Errorf(wire.NotFound, "there is no job %q here%s (millrace job ls and millrace job history list them)", id, c.meant(id))
}

// meant returns a question that names the job whose id is nearest to an unknown one, the newest of several. A bare
// number means the job that has it.
func (c *Tracker) meant(id wire.JobID) string {
	if same := "job-" + id; c.jobs[same] != nil {
		return ": did you mean " + string(same) + "?"
	}
	var known []string
	for _, j := range slices.SortedFunc(maps.Values(c.jobs), func(a, b *job) int { return cmp.Compare(b.num, a.num) }) {
		known = append(known, string(j.id))
	}
	return suggest.Meant(string(id), known)
}

// endJob records a job's end, stops what runs and frees what it held.
func (c *Tracker) endJob(now time.Duration, j *job, s State, why string) {
	if j.state.Ended() {
		return
	}
	c.note(Record{At: now, Kind: JobEnded, Job: j.id, State: s, Text: wire.Clip(why, wire.MaxText), Counts: j.counts.Clone(), Tries: j.tries})
	for _, st := range j.stages {
		c.closeStage(now, st, s, why)
	}
	c.sweep(j)
	c.ended = append(c.ended, j.id)
	c.forget()
	c.changed(j)
	c.out.Drivers = append(c.out.Drivers, j.id)
	c.startHeld(now, c.userNamed(j.spec.User))
	c.admit(now)
	c.offerAll(now)
}

// closeStage ends a stage for the policies.
func (c *Tracker) closeStage(now time.Duration, st *stage, s State, why string) {
	if st.sid < 0 || c.stages[st.sid] == nil {
		return
	}
	said := cmp.Or(why, "its job has ended") // what workers are told: every kill has a reason
	for a := range st.running {
		if a.id.Kind == wire.DriverTask && s == Succeeded {
			delete(a.node.want, a.id) // the driver ends by itself
			c.tellEnd(now, wire.PastDone, a, "", nil)
			continue
		}
		c.drop(a, said)
		c.tellEnd(now, wire.PastStopped, a, said, nil)
	}
	st.running = nil
	e := scheduler.JobFinished(st.sid)
	switch s {
	case Failed:
		e = scheduler.JobFailed(st.sid)
	case Cancelled:
		e = scheduler.JobVanished(st.sid)
	}
	c.feed(now, e)
	delete(c.stages, st.sid)
	delete(c.log.held, st.sid)
}

// forget drops the oldest ended jobs: the history has them.
func (c *Tracker) forget() {
	for len(c.ended) > c.cfg.KeepEnded {
		j := c.jobs[c.ended[0]]
		delete(c.jobs, j.id)
		if key := j.spec.User + "\x00" + j.spec.Request; c.requests[key] == j.id {
			delete(c.requests, key)
		}
		c.ended = c.ended[1:]
	}
}
