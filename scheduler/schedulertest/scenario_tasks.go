package schedulertest

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// heartbeat offers nodes and prints what they got, or why they got nothing.
func (s *scenario) heartbeat(w *words) error {
	return s.eachNode(w, func(n topology.NodeID) {
		name, got := s.topo.Node(n).Name, 0
		why, err := s.g.Offer(s.now, n, func(d scheduler.Decision) {
			got++
			near := ""
			if d.Task.Kind == scheduler.Map && d.Locality != scheduler.Anywhere {
				near = " " + d.Locality.String()
			}
			s.printf("%s: %s%s (%s)", name, s.taskName(d.Task), near, d.Reason.Text(s.g.View()))
		})
		switch {
		case err != nil:
			s.printf("%s: error: %v", name, err)
		case got == 0:
			s.printf("%s: nothing (%s)", name, why.Text(s.g.View()))
		}
	})
}

// attempts returns the running attempts that the words select, oldest first:
// tasks by name, "all", or a job with maps= or reduces=.
func (s *scenario) attempts(w *words) ([]scheduler.Attempt, error) {
	v := s.g.View()
	var out []scheduler.Attempt
	count := [scheduler.Driver]int{w.integer("maps", 0), w.integer("reduces", 0)}
	for _, name := range w.plain() {
		if id, ok := s.jobs[name]; ok || name == "all" {
			for j := range v.Jobs().All() {
				if name == "all" || j.ID() == id {
					out = append(out, s.ofJob(j, count, name == "all")...)
				}
			}
			continue
		}
		t, err := s.taskNamed(name)
		if err != nil {
			return nil, err
		}
		found := false
		if j := v.Job(t.Job); j != nil {
			for a := range v.Attempts(j, t.Kind) {
				if a.Task == t {
					out, found = append(out, a), true
				}
			}
		}
		if !found { // let State say that it is stale
			out = append(out, scheduler.Attempt{Task: t, Node: topology.NoNode})
		}
	}
	return out, nil
}

func (s *scenario) ofJob(j *scheduler.Job, count [scheduler.Driver]int, all bool) []scheduler.Attempt {
	var out []scheduler.Attempt
	for k, n := range count {
		running := slices.Collect(s.g.View().Attempts(j, scheduler.Kind(k)))
		slices.Reverse(running)
		if all {
			n = len(running)
		}
		out = append(out, running[:min(n, len(running))]...)
	}
	return out
}

func (s *scenario) finish(w *words) error {
	took, in, out := w.duration("took", defaultTook), w.size("in").Bytes, w.size("out").Bytes
	ended, err := s.attempts(w)
	if err != nil {
		return err
	}
	for _, a := range ended {
		read := in
		if j := s.g.View().Job(a.Task.Job); j != nil && in == 0 {
			read = j.SplitBytes(a.Task.Index)
		}
		s.feed(scheduler.TaskFinished(a.Task, a.Node, took, read, out))
	}
	s.settle()
	return nil
}

func taskCommand(event func(scheduler.TaskID, topology.NodeID) scheduler.Event) func(*scenario, *words) error {
	return func(s *scenario, w *words) error {
		ended, err := s.attempts(w)
		if err != nil {
			return err
		}
		for _, a := range ended {
			s.feed(event(a.Task, a.Node))
		}
		s.settle()
		return nil
	}
}

// lose declares the output of finished tasks gone.
func (s *scenario) lose(w *words) error {
	names := w.plain()
	if len(names) == 0 {
		return fmt.Errorf("which task?")
	}
	for _, name := range names {
		t, err := s.taskNamed(name)
		if err != nil {
			return err
		}
		s.feed(scheduler.TaskLost(t))
	}
	return nil
}
