package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// Run simulates a workload to its end.
func Run(cfg Config, jobs []*Job) (*Result, error) {
	s, err := newSimulation(cfg, jobs)
	if err != nil {
		return nil, err
	}
	if err := s.loop(); err != nil {
		return s.result(), err
	}
	return s.result(), nil
}

// happening is an entry of the agenda.
type happening struct {
	what what
	node topology.NodeID
	job  int32  // index of the workload
	try  uint32 // try of the attempt
}

type what uint8

const (
	heartbeat     what = iota // a node reports
	heartbeatIdle             // a node that slept for want of work reports
	ready                     // a driver has started
	breakDown                 // job is the index of the fault
	comeBack
	tick
	sample
	gauge
	finish // a job has cleaned up
	watch  // the network is sampled
	point  // a sample of the timeline is due
	change // job is the index of the change
	expect // recurring jobs are announced
	swap   // job is the index of the switch
)

// simulation is a run in progress.
type simulation struct {
	cfg      Config
	drive    *drive.Loop
	agenda   queue[happening]
	arrivals []int32 // jobs that have not arrived, by time; they come before all else at that time
	now      time.Duration
	jobs     []*Job
	byID     map[scheduler.JobID]int32
	res      Result
	left     int // jobs not ended

	running []roster                  // by node
	late    [][]Attempt               // by node: ended, not reported
	raced   map[scheduler.TaskID]bool // tasks that have had a second attempt and no result yet
	starts  map[int32]bool            // jobs whose driver starts up
	tries   uint32
	active  int           // attempts that run, drivers not counted
	drivers int           // drivers that wait for a place
	coming  int           // jobs that have not arrived
	moved   time.Duration // when something last arrived, started or ended
	stops   int           // attempts that the policy has stopped at stopsAt
	stopsAt time.Duration
	idle    [2]*idleNodes // by kind
	err     error
	// abstains, where the policy is an Abstainer and nobody else needs heartbeats
	abstains func(now time.Duration, n topology.NodeID, v *scheduler.View) bool

	rng         *rand.Rand // of stragglers and reloads
	monitor     *netmon.Monitor
	counted     [][2]float64 // by rack: bytes told to the monitor, up and down
	heartbeats  heartbeats
	placing     *rand.Rand         // of blocks
	heartbeatAt []time.Duration    // by node: when an offer is next a heartbeat; only with AskAgain
	asking      [1]topology.NodeID // the node of a round, so that asking allocates nothing
	started     []int32            // jobs that the round has admitted
	do          func(drive.Step)   // carryOut, so that a round allocates nothing
}

func newSimulation(cfg Config, jobs []*Job) (*simulation, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if cfg.Patience == 0 {
		cfg.Patience = defaultPatience
	}
	if cfg.ReportEvery == 0 {
		cfg.ReportEvery = time.Second
	}
	n := cfg.Topology.NumNodes()
	s := &simulation{
		cfg: cfg, jobs: jobs, byID: make(map[scheduler.JobID]int32, len(jobs)), left: len(jobs), coming: len(jobs),
		running: make([]roster, n), raced: map[scheduler.TaskID]bool{}, starts: map[int32]bool{}, late: make([][]Attempt, n),
		idle: [2]*idleNodes{newIdleNodes(n), newIdleNodes(n)}, heartbeats: newHeartbeats(n),
	}
	state, err := scheduler.NewState(cfg.Topology, cfg.State)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	rules := drive.Config{Seconds: cfg.Seconds, Meter: s.meter(), Refill: cfg.Refill, Spread: cfg.AskAgain > 0}
	if cfg.Lines != nil {
		rules.Log = func(l *drive.Line) { cfg.Lines(s.drive, l) }
	}
	s.drive = drive.New(scheduler.NewEngine(state, cfg.Policy, cfg.Admission), rules)
	if a, ok := cfg.Policy.(scheduler.Abstainer); ok && cfg.Admission == nil {
		s.abstains = a.Abstains
	}
	s.do = s.carryOut
	s.res.Jobs = make([]JobResult, len(jobs))
	for i, j := range jobs {
		if _, dup := s.byID[j.Spec.ID]; dup {
			return nil, fmt.Errorf("simulate: two jobs have id %v", j.Spec.ID)
		}
		s.byID[j.Spec.ID] = int32(i)
		s.res.Jobs[i] = JobResult{Job: j, Submitted: j.Spec.Submit}
	}
	s.start(rand.New(rand.NewPCG(cfg.Seed, 0x6d696c6c)))
	return s, s.err
}

// start brings the nodes up and plans first reports, faults and ticks.
func (s *simulation) start(rng *rand.Rand) {
	for n := range topology.NodeID(s.cfg.Topology.NumNodes()) {
		s.feed(scheduler.NodeUp(n, s.cfg.capacity(n)))
		if s.cfg.Heartbeat > 0 {
			s.heartbeats.phases[n] = time.Duration(rng.Int64N(int64(s.cfg.Heartbeat)))
			s.agenda.add(s.heartbeats.phases[n], happening{what: heartbeat, node: n})
		}
	}
	s.heartbeats.sort()
	s.listArrivals()
	for i, f := range s.cfg.Faults {
		s.agenda.add(f.At, happening{what: breakDown, node: f.Node, job: int32(i)})
	}
	s.agenda.add(0, happening{what: tick})
	s.startExtras(rng)
	if _, ok := s.cfg.Model.(Gauge); ok {
		s.agenda.add(0, happening{what: gauge})
	}
	if s.cfg.Sample != nil {
		s.agenda.add(s.cfg.SampleEvery, happening{what: sample})
	}
}

// listArrivals sorts the jobs by arrival; jobs of the same time keep their order.
func (s *simulation) listArrivals() {
	for i := range s.jobs {
		s.arrivals = append(s.arrivals, int32(i))
	}
	slices.SortStableFunc(s.arrivals, func(a, b int32) int { return cmp.Compare(s.jobs[a].Spec.Submit, s.jobs[b].Spec.Submit) })
}

// index returns the index of a job in the workload, which in most workloads is its id.
func (s *simulation) index(id scheduler.JobID) int32 {
	if int(id) < len(s.jobs) && s.jobs[id].Spec.ID == id {
		return int32(id)
	}
	return s.byID[id]
}

// feed gives the engine an event that it must accept.
func (s *simulation) feed(e scheduler.Event) {
	if err := s.drive.Feed(s.now, e); err != nil && s.err == nil {
		s.err = fmt.Errorf("at %v: %v: %w", s.now, e, err)
	}
}

// loop runs until every job has ended.
func (s *simulation) loop() error {
	for steps := 0; s.left > 0; steps++ {
		if s.cfg.Stop != nil && steps%1024 == 0 {
			if err := s.cfg.Stop(); err != nil {
				return err
			}
		}
		at, ok := s.nextTime()
		if !ok || s.left > s.coming && at-s.moved > s.cfg.Patience && s.nothingEnds() {
			return s.stalled()
		}
		s.now = at
		s.step()
		if s.err != nil {
			return s.err
		}
	}
	s.res.Makespan = s.now
	return nil
}

func (s *simulation) nextTime() (time.Duration, bool) {
	at := s.cfg.Model.Next()
	if s.agenda.some() {
		at = min(at, s.agenda.next())
	}
	if len(s.arrivals) > 0 {
		at = min(at, s.jobs[s.arrivals[0]].Spec.Submit)
	}
	return at, at != Never
}

// step does everything that happens now: ends of attempts first, then the agenda in
// order; then work is handed out.
func (s *simulation) step() {
	for {
		a, ok := s.cfg.Model.End(s.now)
		if !ok {
			break
		}
		s.res.Events++
		s.ended(a)
	}
	for len(s.arrivals) > 0 && s.jobs[s.arrivals[0]].Spec.Submit == s.now && s.err == nil {
		i := s.arrivals[0]
		s.arrivals = s.arrivals[1:]
		s.res.Events++
		s.arrive(i)
	}
	for s.agenda.some() && s.agenda.next() == s.now && s.err == nil {
		_, h := s.agenda.take()
		s.res.Events++
		s.happen(h)
	}
	s.round(drive.Round{Parts: drive.Kill | s.admits()})
	if s.cfg.Heartbeat == 0 {
		s.offerIdle()
	} else {
		s.wakeIdle()
	}
}

// arrive submits a job.
func (s *simulation) arrive(i int32) {
	s.coming--
	s.moved = s.now
	s.feed(scheduler.JobSubmitted(s.jobs[i].Spec))
}

func (s *simulation) happen(h happening) {
	switch h.what {
	case heartbeat:
		if h.try == s.heartbeats.lives[h.node] {
			s.heartbeat(h.node)
		}
	case heartbeatIdle:
		s.heartbeatIdle(h.node)
	case ready:
		s.ready(h)
	case breakDown:
		s.breakDown(s.cfg.Faults[h.job])
	case comeBack:
		s.comeBack(h.node)
	case tick:
		s.tick()
	case gauge:
		s.report()
	case finish:
		s.finish(h.job)
	case watch, point, change, expect, swap:
		s.extra(h)
	case sample:
		s.cfg.Sample(s.now, s.drive.View())
		s.agenda.add(s.now+s.cfg.SampleEvery, happening{what: sample})
	}
}

func (s *simulation) result() *Result {
	if c, ok := s.cfg.Model.(Carrier); ok {
		t := c.Traffic()
		s.res.Network, s.res.Congestion = &t, s.monitor.Summary()
	}
	return &s.res
}

// nothingEnds reports whether no attempt will end by itself: none runs, or all that run are reduces that wait for maps
// which find no room (spec/marp 2.3).
func (s *simulation) nothingEnds() bool { return s.active == 0 || s.cfg.Model.Next() == Never }

// A StallError says that nothing will ever happen again although jobs have not ended.
type StallError struct {
	At   time.Duration
	Left int      // jobs not ended
	Why  []string // a sentence for each of the first of them
}

func (e *StallError) Error() string {
	var why strings.Builder
	for _, w := range e.Why {
		why.WriteString("\n  " + w)
	}
	return fmt.Sprintf("stalled at %v: %d jobs have not ended and nothing runs:%s", e.At, e.Left, why.String())
}

// stalled returns an error in which the policies say what each job waits for.
func (s *simulation) stalled() error {
	e := &StallError{At: s.now, Left: s.left}
	v := s.drive.View()
	for _, j := range s.jobs {
		live := v.Job(j.Spec.ID)
		if live == nil || live.Phase() == scheduler.Ended {
			continue
		}
		e.Why = append(e.Why, s.drive.Explain(s.now, j.Spec.ID).Text(v))
		if len(e.Why) == 5 {
			break
		}
	}
	return e
}
