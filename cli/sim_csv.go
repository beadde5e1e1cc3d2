package cli

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// Heads of the files beside a report; docs/simulator.md explains them.
var (
	jobsHead = []string{
		"policy", "seed", "job", "name", "user", "queue", "submit_s", "start_s", "end_s", "maps", "reduces", "completion_s", "wait_s",
		"slowdown", "attempts", "node_local_maps", "rack_local_maps", "deadline_s", "rejected",
	}
	attemptsHead = []string{"policy", "seed", "job", "kind", "task", "attempt", "second", "node", "rack", "start_s", "end_s", "ended", "locality"}
)

// writeRows writes jobs.csv and attempts.csv, one run after the other.
func writeRows(dir string, swept []string, runs []*simRun) error {
	err := writeCSVFile(filepath.Join(dir, "jobs.csv"), slices.Concat(swept, jobsHead), func(row func(...string)) {
		for _, r := range runs {
			r.jobRows(row)
		}
	})
	return errors.Join(err, writeCSVFile(filepath.Join(dir, "attempts.csv"), slices.Concat(swept, attemptsHead), func(row func(...string)) {
		for _, r := range runs {
			r.attemptRows(row)
		}
	}))
}

func writeCSVFile(name string, head []string, rows func(row func(...string))) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	w := csv.NewWriter(b)
	_ = w.Write(head)
	rows(func(cells ...string) { _ = w.Write(cells) })
	w.Flush()
	return errors.Join(w.Error(), b.Flush(), f.Close()) // the writer keeps its first error
}

// origin returns the first cells of each row of a run.
func (r *simRun) origin() []string {
	return append(slices.Clone(r.swept), r.Policy, strconv.FormatUint(r.Seed, 10))
}

func (r *simRun) jobRows(row func(...string)) {
	before := r.origin()
	for i := range r.res.Jobs {
		j := &r.res.Jobs[i]
		s := j.Job.Spec
		cells := append(slices.Clone(before), strconv.Itoa(int(s.ID)), s.Name, s.User, s.Queue, inSeconds(j.Submitted))
		if j.Failed {
			row(append(cells, "", "", strconv.Itoa(int(s.Maps)), strconv.Itoa(int(s.Reduces)), "", "", "", strconv.Itoa(j.Attempts), "", "", goal(s), "true")...)
			continue
		}
		alone := max(j.Job.Alone(r.room), time.Millisecond)
		row(append(cells, inSeconds(j.FirstStart), inSeconds(j.Finished), strconv.Itoa(int(s.Maps)), strconv.Itoa(int(s.Reduces)),
			inSeconds(j.Completion()), inSeconds(j.Wait()), strconv.FormatFloat(j.Completion().Seconds()/alone.Seconds(), 'f', 4, 64), strconv.Itoa(j.Attempts),
			strconv.Itoa(j.Local[scheduler.NodeLocal]), strconv.Itoa(j.Local[scheduler.RackLocal]), goal(s), "false")...)
	}
}

// goal returns the deadline of a job, from the start of the run.
func goal(s *scheduler.JobSpec) string {
	if s.Deadline == 0 {
		return ""
	}
	return inSeconds(s.Deadline)
}

// attemptRows writes the attempts in the order of their launches; those of a task are numbered from 1.
func (r *simRun) attemptRows(row func(...string)) {
	before := r.origin()
	log := slices.Clone(r.res.Log)
	slices.SortFunc(log, func(a, b sim.AttemptLog) int { return cmp.Compare(a.Try, b.Try) })
	tries := map[scheduler.TaskID]int{}
	for i := range log {
		a := &log[i]
		tries[a.Task]++
		ended := "stopped"
		if a.OK {
			ended = "done"
		}
		row(append(slices.Clone(before), strconv.Itoa(int(a.Task.Job)), a.Task.Kind.String(), strconv.Itoa(int(a.Task.Index)), strconv.Itoa(tries[a.Task]),
			strconv.FormatBool(a.Second), nodeIn(r.topo, a.Node), rackIn(r.topo, a.Node), inSeconds(a.Start), inSeconds(a.End), ended, locality(a))...)
	}
}

// locality returns where a map had its input; reduces read from everywhere.
func locality(a *sim.AttemptLog) string {
	if a.Task.Kind != scheduler.Map {
		return ""
	}
	return a.Locality.String()
}

func nodeIn(t *topology.Topology, n topology.NodeID) string {
	return cmp.Or(t.Node(n).Name, "n"+strconv.Itoa(int(n)))
}

func rackIn(t *topology.Topology, n topology.NodeID) string {
	r := t.RackOf(n)
	return cmp.Or(t.Rack(r).Name, "r"+strconv.Itoa(int(r)))
}

func inSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
