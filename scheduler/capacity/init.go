package capacity

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// InitConfig is the configuration of the admission policy (spec/capacity 3.3, job
// initialisation).
type InitConfig struct {
	Queues []Queue
	// MaxSystemJobs bounds the initialised jobs of the whole cluster; queues get
	// their part of it. Lower: less memory in the master, later jobs wait longer
	// and run faster. Default 3000.
	MaxSystemJobs int
	// PollInterval is how often waiting jobs are looked at. Longer: later
	// starts. Default 5 s.
	PollInterval time.Duration
	// MaxMB refuses jobs with larger tasks, by kind; 0: none (spec/capacity 3.6).
	MaxMB [kinds]int64
}

// DefaultInitConfig returns the defaults of spec/capacity 3.3, Table 2.1.
func DefaultInitConfig() InitConfig {
	return InitConfig{Queues: DefaultConfig().Queues, MaxSystemJobs: 3000, PollInterval: 5 * time.Second}
}

// Init is the initialisation poller as an admission policy: jobs that could never
// be initialised are rejected at once, others wait for a poll that finds room.
type Init struct {
	cfg InitConfig
	*tree
	waitingQueues []waitingQueue // by place of the leaf in tree.leaves
	index         map[*queue]int
	guests        []guest // by job slot
	refused       []refusal
	granted       []*job
	awake         bool // the first interval has begun: the next tick looks
}

// A waitingQueue is the jobs of one leaf that wait.
type waitingQueue struct {
	queue   *queue
	limits  JobLimits
	waiting *scheduler.Order[*job, scheduler.Priority]
	jobs    int // waiting and initialised
	active  int // initialised: initializing or running
	tasks   int // of initialised jobs: activeTasks
	users   []userInQueue
	held    int    // initialised jobs whose plan waits for the queue's limit
	full    []bool // scratch, by user slot: failed step 2d of the poller (spec/capacity 3.4) in this poll
}

// A userInQueue is what one user has in one queue.
// held counts initialised jobs whose plan waits for the user's limit.
type userInQueue struct{ jobs, active, tasks, held int }

// A guest is one job.
type guest struct {
	in, active   bool
	held         hold // its plan waits
	waitingQueue int
	tasks        int
}

// A hold says whose limit a plan waits for.
type hold uint8

const (
	free hold = iota
	byQueue
	byUser
)

type refusal struct {
	job *job
	why scheduler.Reason
}

var (
	_ scheduler.Admission = (*Init)(nil)
	_ scheduler.Ticker    = (*Init)(nil)
	_ scheduler.Explainer = (*Init)(nil)
	_ scheduler.Judge     = (*Init)(nil)
)

// NewInit returns the admission policy that cfg describes.
func NewInit(cfg InitConfig) (*Init, error) {
	if cfg.MaxSystemJobs < 1 || cfg.PollInterval <= 0 {
		return nil, fmt.Errorf("%d system jobs and a poll interval of %v must be above 0", cfg.MaxSystemJobs, cfg.PollInterval)
	}
	t, err := newTree(cfg.Queues)
	if err != nil {
		return nil, err
	}
	i := &Init{cfg: cfg, tree: t, index: make(map[*queue]int)}
	for n, q := range t.leaves {
		i.index[q] = n
		i.waitingQueues = append(i.waitingQueues, waitingQueue{
			queue: q, limits: LimitsOf(cfg.MaxSystemJobs, q.part, q.UserLimit, q.AcceptFactor),
			waiting: scheduler.NewOrder[*job](func(a, b scheduler.Priority) int { return int(b) - int(a) }),
		})
	}
	return i, nil
}

// Observe implements scheduler.Admission.
func (i *Init) Observe(_ time.Duration, e scheduler.Event, v *scheduler.View) {
	j := v.Job(e.Job)
	if j == nil {
		return
	}
	switch e.Kind {
	case scheduler.EvJobSubmitted:
		i.submit(j)
	case scheduler.EvJobAdmitted:
		if g := &i.guests[j.Slot()]; g.in && !g.active { // admitted before this policy was put in place
			i.initialise(j)
		}
	case scheduler.EvJobReady:
		i.recount(j)
	case scheduler.EvJobFinished, scheduler.EvJobFailed, scheduler.EvJobVanished:
		i.leave(j)
	}
}

// Admit implements scheduler.Admission.
func (i *Init) Admit(_ time.Duration, v *scheduler.View) scheduler.AdmitDecision {
	if len(i.refused) > 0 {
		r := i.refused[0]
		i.refused = slices.Delete(i.refused, 0, 1)
		return scheduler.AdmitDecision{Verdict: scheduler.Reject, Job: r.job.ID(), Reason: r.why}
	}
	for len(i.granted) > 0 {
		j := i.granted[0]
		i.granted = slices.Delete(i.granted, 0, 1)
		if j.Phase() == scheduler.Waiting {
			l := &i.waitingQueues[i.guests[j.Slot()].waitingQueue]
			return scheduler.AdmitDecision{Verdict: scheduler.Admit, Job: j.ID(), Reason: scheduler.Reason{
				Code: scheduler.Chosen, Say: "{job} is initialised: {group} now has {a} of {b} jobs", Job: j.ID(), Group: j.Queue(), A: int64(l.active), B: int64(l.limits.Init),
			}}
		}
	}
	if v.Waiting().Len() == 0 {
		return scheduler.AdmitDecision{Reason: scheduler.Reason{Code: scheduler.NoWork, Say: "no job waits for admission"}}
	}
	return scheduler.AdmitDecision{Reason: scheduler.Reason{Code: scheduler.ForAdmission, Say: "{a} jobs wait for a poll that finds room", A: int64(v.Waiting().Len())}}
}
