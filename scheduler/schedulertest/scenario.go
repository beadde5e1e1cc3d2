package schedulertest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Scenarios runs every story in dir, one per file. A story is a series of blocks: commands,
// one per line, then ---- and what they print. `go test -rewrite` writes what
// they print now; read the difference like code. infos are the policies that a
// story may name; the first is used if it names none.
//
//	cluster racks=2 nodes=2 containers=1            starts over: nodes n1.. in racks r1..; also maps= reduces= vcores= memory= class=
//	node big rack=r1 class=scale-up containers=24    one more node
//	policy delay skips=2                             an assignment or admission policy with parameters
//	job j1 maps=3 reduces=1 user=bob blocks=(n1,n2)  submits it; see jobSpec for all words
//	heartbeat n1 n2 | heartbeat all                  offers nodes; prints launches with reasons
//	finish j1/map/0 | finish j1 maps=2 | finish all  ends attempts; also out=BYTES took=5s
//	fail T | kill T | lose T | vanish j1 | ready j1  what may happen to tasks and jobs
//	down n1 | up n1 | drain n1                       what may happen to nodes
//	net r1 up=0.9 down=0.1 congested | cpu idle=40   samples
//	progress j1 percent=50 | config text=marp=0.09
//	wait 5s | tick                                   time passes; periodic work is done
//	why j1 | jobs | queues                           asks
func Scenarios(t *testing.T, dir string, infos ...*scheduler.Info) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() { // failures kept by rapid and by fuzzing are not stories
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			s := &scenario{infos: infos, jobs: make(map[string]scheduler.JobID)}
			datadriven.RunTest(t, filepath.Join(dir, e.Name()), func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				return s.block(t, d)
			})
		})
	}
}

// scenario is the state of one story.
type scenario struct {
	infos     []*scheduler.Info
	builder   *topology.Builder
	topo      *topology.Topology
	capacity  map[topology.NodeID]scheduler.Capacity
	policy    scheduler.Policy
	admission scheduler.Admission
	g         *scheduler.Engine
	now       time.Duration
	jobs      map[string]scheduler.JobID
	next      scheduler.JobID
	out       strings.Builder
}

func (s *scenario) block(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	s.out.Reset()
	lines := []string{d.FullCmd()}
	if d.Input != "" {
		lines = append(lines, strings.Split(d.Input, "\n")...)
	}
	for _, line := range lines {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cmd, args, err := datadriven.ParseLine(line)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		if err := s.command(cmd, &words{args: args}); err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
	}
	return s.out.String()
}

// command runs one line. An error is a mistake in the story; what a policy or
// State refuses is printed.
func (s *scenario) command(cmd string, w *words) error {
	run, ok := commands[cmd]
	if !ok {
		return fmt.Errorf("no such command; there are: %s", strings.Join(slices.Sorted(maps.Keys(commands)), " "))
	}
	if s.g == nil && cmd != "cluster" && cmd != "node" && cmd != "policy" {
		if err := s.start(); err != nil {
			return err
		}
	}
	if err := run(s, w); err != nil {
		return err
	}
	return w.rest()
}

// start builds the engine when the first thing happens.
func (s *scenario) start() error {
	if s.topo == nil || s.topo.NumNodes() == 0 {
		return fmt.Errorf("the story has no cluster yet")
	}
	if s.policy == nil {
		if err := s.choose(s.infos[0].Name, nil); err != nil {
			return err
		}
	}
	state, err := scheduler.NewState(s.topo, scheduler.DefaultConfig())
	if err != nil {
		return err
	}
	s.g = scheduler.NewEngine(state, s.policy, s.admission)
	for n := range topology.NodeID(s.topo.NumNodes()) {
		s.feed(scheduler.NodeUp(n, s.capacity[n]))
	}
	return nil
}

// choose makes the policy called name.
func (s *scenario) choose(name string, params map[string]string) error {
	for _, i := range s.infos {
		if i.Name != name {
			continue
		}
		made, err := i.Make(params)
		if err != nil {
			s.printf("error: %v", err)
			return nil
		}
		if a, ok := made.(scheduler.Admission); ok && i.Seam == scheduler.Admitting {
			s.admission = a
		} else {
			s.policy = made.(scheduler.Policy)
			if s.g != nil {
				s.g.SetPolicy(s.now, s.policy)
			}
		}
		return nil
	}
	return fmt.Errorf("the story may not use policy %q", name)
}

func (s *scenario) printf(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

func (s *scenario) feed(e scheduler.Event) {
	if err := s.g.Feed(s.now, e); err != nil {
		s.printf("error: %v", err)
	}
}

// settle admits jobs that may start and ends jobs that are complete.
func (s *scenario) settle() {
	if _, err := s.g.Admit(s.now, s.admitted); err != nil {
		s.printf("error: %v", err)
	}
	var ended []scheduler.JobID
	for j := range s.g.View().Jobs().All() {
		if j.Complete() {
			ended = append(ended, j.ID())
		}
	}
	for _, id := range ended {
		s.printf("%s finished", s.name(id))
		s.feed(scheduler.JobFinished(id))
	}
}

func (s *scenario) admitted(d scheduler.AdmitDecision) {
	if s.admission == nil {
		return
	}
	verb := map[scheduler.Verdict]string{scheduler.Admit: "admitted", scheduler.Reject: "rejected"}[d.Verdict]
	s.printf("%s %s (%s)", s.name(d.Job), verb, d.Reason.Text(s.g.View()))
}

func (s *scenario) name(id scheduler.JobID) string {
	if j := s.g.View().Job(id); j != nil && j.Spec().Name != "" {
		return j.Spec().Name
	}
	return id.String()
}
