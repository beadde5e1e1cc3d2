package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// announce tells a planning policy which jobs will come, and places the input of all jobs. With windows, the first is
// announced now and each other at its beginning.
func (s *simulation) announce(rng *rand.Rand) {
	s.placing = rand.New(rand.NewPCG(rng.Uint64(), 0x706c61))
	until := Never
	if s.cfg.PlanHorizon > 0 {
		until = s.cfg.PlanHorizon
	}
	s.plan(0, until)
}

// plan announces and places the jobs that arrive from now on and before until.
func (s *simulation) plan(now, until time.Duration) {
	var expected []*scheduler.JobSpec
	later := false
	for _, j := range s.jobs {
		switch at := j.Spec.Submit; {
		case at >= until:
			later = true
		case at >= now && j.Spec.Recurring:
			expected = append(expected, j.expected())
		}
	}
	racks := map[scheduler.JobID][]topology.RackID{}
	if len(expected) > 0 {
		for _, q := range s.drive.Plan(now, expected) {
			racks[q.Job] = q.MapRacks
		}
	}
	if s.cfg.Placement != nil {
		for _, j := range s.jobs {
			if at := j.Spec.Submit; at >= now && at < until {
				s.place(j, racks[j.Spec.ID])
			}
		}
	}
	if later {
		s.agenda.add(until, happening{what: expect})
	}
}

// expected returns the job as it is announced.
func (j *Job) expected() *scheduler.JobSpec {
	if j.Late == 0 {
		return j.Spec
	}
	spec := *j.Spec
	spec.Submit -= j.Late
	return &spec
}

// place gives the blocks of a job's input new nodes.
func (s *simulation) place(j *Job, racks []topology.RackID) {
	copies := s.cfg.Copies
	if copies == 0 {
		copies = 3
	}
	old := j.Spec.Splits
	var splits scheduler.Splits
	for i, bytes := range old.Bytes {
		got, err := s.cfg.Placement.Place(s.placing, placement.Request{
			Writer: topology.NodeID(s.placing.IntN(s.cfg.Topology.NumNodes())), Replicas: copies, Racks: racks, First: i,
		})
		if len(got.Nodes) == 0 {
			s.err = fmt.Errorf("place block %d of job %v: %w", i, j.Spec.ID, err)
			return
		}
		splits.Add(bytes, got.Nodes...)
	}
	j.Spec.Splits = splits
}
