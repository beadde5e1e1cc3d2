package drive

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// ran is what the references know of an attempt.
type ran struct {
	scheduler.Attempt
	done  float64
	known bool
}

// TestWhoIsLate: who is late by either rule is whom the rule names as it is written, whatever runs, waits and has ended.
func TestWhoIsLate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		r := newRig(t, &oldest{}, 6, Config{})
		all := map[scheduler.TaskID][]ran{}
		for id := range scheduler.JobID(1 + rng.IntN(3)) {
			r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: id, Maps: 1 + rng.Int32N(8), Reduces: rng.Int32N(4), Slowstart: -1}))
			r.feed(scheduler.JobAdmitted(id))
		}
		lengths := map[[2]int][]time.Duration{} // of ended attempts, by job and kind
		for r.now < 60*time.Second {
			r.now += time.Duration(rng.IntN(3)) * time.Second
			start(r, rng, all, lengths)
		}
		meter := func(_ time.Duration, a scheduler.Attempt) (float64, bool) {
			for _, o := range all[a.Task] {
				if o.Node == a.Node {
					return o.done, o.known
				}
			}
			return 0, false
		}
		lag := Lag{After: time.Duration(rng.IntN(30)) * time.Second, Behind: 0.3 * rng.Float64(), Cap: rng.Float64()}
		late := LATE{After: time.Duration(rng.IntN(30)) * time.Second, Slower: 2 * rng.Float64(), Share: rng.Float64()}
		if got, want := names(lag.Late(r.now, r.View(), meter)), names(lagging(r, lag, all)); got != want {
			rt.Fatalf("%+v: %s, as it is written %s", lag, got, want)
		}
		if got, want := names(late.Late(r.now, r.View(), meter)), names(longest(r, late, all, lengths)); got != want {
			rt.Fatalf("%+v: %s, as it is written %s", late, got, want)
		}
		running := r.View().ClusterUsed().Tasks
		if got := late.Most(r.View(), scheduler.Map); got != max(1, int(late.Share*float64(running[0]+running[1]+running[2]))) {
			rt.Fatalf("%+v allows %d of %v", late, got, running)
		}
	})
}

func names(list []scheduler.Attempt) string {
	var out []string
	for _, a := range list {
		out = append(out, fmt.Sprint(a.Task, "@", a.Node))
	}
	return strings.Join(out, " ")
}

// start lets a task start, race, or end.
func start(r *rig, rng *rand.Rand, all map[scheduler.TaskID][]ran, lengths map[[2]int][]time.Duration) {
	jobs := r.View().Jobs()
	j := jobs.At(rng.IntN(jobs.Len()))
	k := scheduler.Kind(rng.IntN(2))
	if j.Total(k) == 0 {
		return
	}
	t, n := scheduler.TaskID{Job: j.ID(), Kind: k, Index: rng.Int32N(j.Total(k))}, topology.NodeID(rng.IntN(6))
	state, here := j.TaskState(k, t.Index), slices.IndexFunc(all[t], func(a ran) bool { return a.Node == n })
	switch {
	case state == scheduler.TaskPending, state == scheduler.TaskRunning && here < 0 && rng.IntN(4) == 0:
		second := state == scheduler.TaskRunning
		r.feed(scheduler.Launched(t, n, scheduler.Anywhere, second))
		all[t] = append(all[t], ran{scheduler.Attempt{Task: t, Node: n, Start: r.now, Second: second}, float64(rng.IntN(5)) / 4, rng.IntN(6) > 0})
	case state == scheduler.TaskRunning && len(all[t]) == 1 && rng.IntN(3) == 0:
		a := all[t][0]
		r.feed(scheduler.TaskFinished(t, a.Node, 0, 0, 0))
		by := [2]int{int(j.ID()), int(k)}
		lengths[by] = append(lengths[by], r.now-a.Start)
		all[t] = nil
	}
}

// each yields, job by job and kind by kind, the attempts under way, how many tasks are done and how many wait.
func each(r *rig, all map[scheduler.TaskID][]ran, do func(j *scheduler.Job, k scheduler.Kind, list []ran, done, waiting int)) {
	for j := range r.View().Jobs().All() {
		for k := range scheduler.Driver {
			var list []ran
			done, waiting := 0, 0
			for i := range j.Total(k) {
				switch t := (scheduler.TaskID{Job: j.ID(), Kind: k, Index: i}); j.TaskState(k, i) {
				case scheduler.TaskDone:
					done++
				case scheduler.TaskPending:
					waiting++
				default:
					list = append(list, all[t]...)
				}
			}
			do(j, k, list, done, waiting)
		}
	}
}

// lagging is spec/capacity 3.7.
func lagging(r *rig, l Lag, all map[scheduler.TaskID][]ran) (out []scheduler.Attempt) {
	waiting := map[scheduler.Kind]int{}
	each(r, all, func(_ *scheduler.Job, k scheduler.Kind, _ []ran, _, w int) { waiting[k] += w })
	each(r, all, func(_ *scheduler.Job, k scheduler.Kind, list []ran, done, _ int) {
		sum, n, worst := float64(done), float64(done), -1
		for i, a := range list {
			if !a.known {
				continue
			}
			sum, n = sum+a.done, n+1
			if r.now-a.Start >= l.After && len(all[a.Task]) == 1 && (worst < 0 || a.done < list[worst].done) {
				worst = i
			}
		}
		if worst >= 0 && waiting[k] == 0 && list[worst].done < sum/n-l.Behind {
			out = append(out, list[worst].Attempt)
		}
	})
	return out
}

// longest is the longest approximate time to end, within a job.
func longest(r *rig, l LATE, all map[scheduler.TaskID][]ran, lengths map[[2]int][]time.Duration) (out []scheduler.Attempt) {
	type slow struct {
		ran
		left time.Duration
	}
	of := map[scheduler.JobID][]slow{}
	each(r, all, func(j *scheduler.Job, k scheduler.Kind, list []ran, _, waiting int) {
		var sum time.Duration
		ended := lengths[[2]int{int(j.ID()), int(k)}]
		for _, d := range ended {
			sum += d
		}
		for _, a := range list {
			age := r.now - a.Start
			left := timeLeft(age, a.done)
			if waiting > 0 || len(ended) == 0 || age < l.After || !a.known || len(all[a.Task]) != 1 {
				continue
			}
			if mean := sum / time.Duration(len(ended)); float64(age+left) > l.Slower*float64(mean) && left > mean {
				of[j.ID()] = append(of[j.ID()], slow{a, left})
			}
		}
	})
	for j := range r.View().Jobs().All() {
		list := of[j.ID()]
		slices.SortStableFunc(list, func(a, b slow) int {
			return cmp.Or(cmp.Compare(b.left, a.left), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Task.Kind, b.Task.Kind), cmp.Compare(a.Task.Index, b.Task.Index))
		})
		for _, s := range list {
			out = append(out, s.Attempt)
		}
	}
	return out
}

// TestTimeLeft: an attempt goes on as it did; one that has done nothing is taken to have done a hundredth.
func TestTimeLeft(t *testing.T) {
	for done, want := range map[float64]time.Duration{0: 990 * time.Second, 0.01: 990 * time.Second, 0.25: 30 * time.Second, 0.5: 10 * time.Second, 1: 0} {
		if got := timeLeft(10*time.Second, done); (got - want).Abs() > time.Millisecond {
			t.Errorf("%g done in 10 s: %v left, want %v", done, got, want)
		}
	}
}

// TestReplaySaysWhere: a replay names the line and the step that differ, or says that a log cannot be one.
func TestReplaySaysWhere(t *testing.T) {
	r := newRig(t, &oldest{}, 1, Config{})
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 2}))
	r.want(All, "start j1/map/0@-1, launch j1/map/0@0, launch j1/map/1@0")
	last := &r.lines[len(r.lines)-1]
	last.Steps = slices.DeleteFunc(last.Steps, func(s Step) bool { return s.Do == Rest }) // of no account
	last.Steps[2].Task.Index = 7
	replay := func(state scheduler.Config) error { return Replay(state, Config{}, &oldest{}, nil, r.lines) }
	if want, err := fmt.Sprintf("line %d at 0s: step 3 is launch j1/map/1 on node 0, the log says launch j1/map/7 on node 0", len(r.lines)), replay(scheduler.DefaultConfig()); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	last.Steps = last.Steps[:2]
	if err := replay(scheduler.DefaultConfig()); err == nil || !strings.HasSuffix(err.Error(), "decides 3 things, the log says 2") {
		t.Errorf("%v", err)
	}
	if err := replay(scheduler.Config{}); err == nil {
		t.Error("a state without units was taken")
	}
}
