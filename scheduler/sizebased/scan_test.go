package sizebased

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// scanned checks each decision against one that looks at every job, and what each job is told against a count of those before it.
type scanned struct {
	*Policy
	t *testing.T
}

// line is the jobs that have a task of kind k, smallest queue first, each first come first served.
func (s scanned) line(k scheduler.Kind, v *scheduler.View) (out []*job) {
	for j := range v.Jobs().All() {
		if at := s.at(j); at.in && !at.stopping && s.cfg.Reduces.Eligible(j, k) {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *job) int {
		return cmp.Or(cmp.Compare(s.at(a).queue, s.at(b).queue), cmp.Compare(s.at(a).pos, s.at(b).pos))
	})
	return out
}

// mayBorrow reports whether no job of j's queue runs a map, and j holds containers all the same.
func (s scanned) mayBorrow(j *job, v *scheduler.View) bool {
	for o := range v.Jobs().All() {
		if s.at(o).queue == s.at(j).queue && o.Usage().Tasks[scheduler.Map] > 0 {
			return false
		}
	}
	return j.Usage().Tasks[scheduler.Reduce] > 0 || j.Usage().Tasks[scheduler.Driver] > 0
}

func (s scanned) scan(n topology.NodeID, v *scheduler.View) string {
	own, why := s.serves(n, v), "no work"
	shared := v.Capacity(n)
	lends := s.partition != nil && (s.cfg.Lend || !shared.Slotted() || shared.VCores > 0 || shared.MemoryMB > 0)
	kinds, ripe := s.kinds(n, own, v)
	for _, k := range kinds {
		line := s.line(k, v)
		if i := slices.IndexFunc(line, func(j *job) bool { return own.has(s.at(j).queue) }); i >= 0 {
			why = fmt.Sprintf("no room for a %v of %v", k, line[i].ID())
		}
		for _, mine := range []bool{true, false} {
			ahead := map[int32]int{}
			for _, j := range line {
				at := s.at(j)
				ahead[at.queue]++
				borrows := !mine && !s.cfg.Lend
				if own.has(at.queue) != mine || !mine && !lends || borrows && !s.mayBorrow(j, v) || !v.HasRoom(n, k) || !v.Fits(n, j, k) || ripe && j.Waits(k) {
					continue
				}
				task, _, _ := v.PickTask(j, n, k)
				r := scheduler.Reason{Job: j.ID(), Node: n, A: int64(at.queue) + 1, B: int64(s.cfg.K), C: int64(ahead[at.queue]) - 1}
				switch {
				case borrows:
					r.Say = "{job} of queue {a} borrows {node}: its own nodes hold only what waits"
				case r.C > 0:
					r.Say = "{job} is next in queue {a} of {b}: {c} jobs before it have nothing that fits {node}"
				default:
					r.Say = "{job} is first in queue {a} of {b}"
				}
				return fmt.Sprintf("%v: %s", task, r.Text(v))
			}
		}
	}
	return why
}

func (s scanned) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	s.applyFeedback(now)
	want := s.scan(n, v)
	s.told(now, v)
	d := s.Policy.Assign(now, n, v)
	got := "no work"
	switch {
	case d.OK:
		got = fmt.Sprintf("%v: %s", d.Task, d.Reason.Text(v))
	case d.Reason.Code == scheduler.NoRoom:
		got = fmt.Sprintf("no room for a %v of %v", d.Reason.Kind, d.Reason.Job)
	}
	if got != want {
		s.t.Fatalf("at %v node %d: %s; who looks at every job says %s", now, n, got, want)
	}
	return d
}

// told checks what the jobs that wait are told.
func (s scanned) told(now time.Duration, v *scheduler.View) {
	for _, k := range []scheduler.Kind{scheduler.Reduce, scheduler.Map} {
		before := map[int32]int64{}
		line := s.line(k, v)
		for i, j := range line {
			at := s.at(j)
			want := scheduler.Reason{Code: scheduler.Behind, Job: j.ID(), Kind: k, A: int64(at.queue) + 1, B: int64(s.cfg.K), C: int64(i)}
			if s.partition != nil {
				want.C = before[at.queue]
			}
			before[at.queue]++
			if want.C == 0 {
				want.Code = scheduler.NoRoom
			}
			if want.C == 0 && s.partition != nil {
				want.Code = scheduler.AtLimit
			}
			got := s.Explain(now, j.ID(), v)
			if want.Say = got.Say; k == scheduler.Reduce && got.Kind == scheduler.Map {
				continue // it is told of its maps
			}
			if got != want || got.Say == "" {
				s.t.Fatalf("at %v %v is told %+v, want %+v", now, j.ID(), got, want)
			}
		}
	}
}

// TestDecisionsAgainstScan: every decision of every discipline, and what it says of it, is that of one who looks at every job.
func TestDecisionsAgainstScan(t *testing.T) {
	for _, c := range []struct {
		info   *scheduler.Info
		params map[string]string
	}{
		{&FBQInfo, map[string]string{"k": "3", "limits": "10,40"}},
		{&FBQInfo, map[string]string{"k": "3", "fit": "true", "hold-reduces": "true"}},
		{&TAGSInfo, map[string]string{"k": "3", "limits": "10,40", "shares": "0.4,0.3,0.3"}},
		{&TAGSInfo, map[string]string{"limits": "20", "lend": "true", "slowstart": "0.4"}},
		{&TAGSInfo, map[string]string{"limits": "20", "restart": "true"}},
		{&SITAInfo, map[string]string{"k": "3", "limits": "20,50", "shares": "0.2,0.3,0.5"}},
		{&COMPInfo, map[string]string{"k": "4"}},
	} {
		inner := schedulertest.Factory(t, c.info, c.params)
		some(t, 16, func() scheduler.Policy { return scanned{inner().(*Policy), t} })
	}
}

// remaining checks each decision of the oracle against one that works out anew what every job has left.
type remaining struct {
	*SRPT
	t    *testing.T
	size map[scheduler.JobID]float64
}

func (s *remaining) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	if j := v.Job(e.Job); j != nil && (e.Kind == scheduler.EvJobSubmitted || e.Kind == scheduler.EvJobReady) {
		s.size[e.Job] = s.predictor.Size(j.Spec())
	}
	s.SRPT.Observe(now, e, v)
}

func (s *remaining) left(j *job) float64 {
	_, maps, _ := j.Samples(scheduler.Map)
	_, reduces, _ := j.Samples(scheduler.Reduce)
	if !s.cfg.Predict.CountWait {
		maps, reduces = j.WorkSum(scheduler.Map), j.WorkSum(scheduler.Reduce)
	}
	return max(0, s.size[j.ID()]-(maps+reduces).Seconds())
}

func (s *remaining) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	want := "no work"
	kinds, ripe := scheduler.RipeFirst(v.KindOrder(n, s.cfg.Reduces.Share))
scan:
	for _, k := range kinds {
		var line []*job
		for j := range v.Jobs().All() {
			if s.cfg.Reduces.Eligible(j, k) {
				line = append(line, j)
			}
		}
		key := func(j *job) float64 {
			if s.cfg.Product {
				return s.left(j) * s.size[j.ID()]
			}
			return s.left(j)
		}
		slices.SortStableFunc(line, func(a, b *job) int { return cmp.Compare(key(a), key(b)) })
		for i, j := range line {
			if got := s.Explain(now, j.ID(), v); got.Kind == k && (got.A != int64(i) || got.B != int64(s.left(j)*1e9) || got.Code != scheduler.Behind) {
				s.t.Fatalf("at %v %v is told %+v; %d have less, it has %g s left", now, j.ID(), got, i, s.left(j))
			}
		}
		if len(line) > 0 {
			want = fmt.Sprintf("no room for a %v of %v", k, line[0].ID())
		}
		for _, j := range line {
			if v.HasRoom(n, k) && v.Fits(n, j, k) && !(ripe && j.Waits(k)) {
				task, _, _ := v.PickTask(j, n, k)
				want = fmt.Sprintf("%v: %d", task, int64(s.left(j)*1e9))
				break scan
			}
		}
	}
	d := s.SRPT.Assign(now, n, v)
	got := "no work"
	switch {
	case d.OK:
		got = fmt.Sprintf("%v: %d", d.Task, d.Reason.A)
	case d.Reason.Code == scheduler.NoRoom:
		got = fmt.Sprintf("no room for a %v of %v", d.Reason.Kind, d.Reason.Job)
	}
	if got != want {
		s.t.Fatalf("at %v node %d: %s; who works it out anew says %s", now, n, got, want)
	}
	return d
}

func TestOracleAgainstScan(t *testing.T) {
	for _, params := range []map[string]string{nil, {"by": "product", "noise": "0.5", "hold-reduces": "true"}, {"size-with-wait": "false", "predict": "input", "seconds-per-gb": "100000"}} {
		inner := schedulertest.Factory(t, &SRPTInfo, params)
		some(t, 16, func() scheduler.Policy {
			return &remaining{inner().(*SRPT), t, map[scheduler.JobID]float64{}}
		})
	}
}

// TestSizes: how big a job is thought to be, and whether anybody knows, by what is known of it and of jobs that have finished.
func TestSizes(t *testing.T) {
	work := &scheduler.JobSpec{Name: "sort", Work: 30 * time.Second, Input: scheduler.Bytes(5e9)}
	input := &scheduler.JobSpec{Name: "sort", Input: scheduler.Bytes(5e9)}
	split := &scheduler.JobSpec{Name: "sort", Maps: 2, Splits: scheduler.Splits{Bytes: []int64{2e9, 3e9}}}
	times := &scheduler.JobSpec{Name: "sort", Maps: 4, MapTime: 2 * time.Second, Reduces: 2, ReduceTime: 5 * time.Second}
	maps := &scheduler.JobSpec{Name: "sort", Maps: 4, MapTime: 2 * time.Second}
	reduces := &scheduler.JobSpec{Name: "sort", Reduces: 2, ReduceTime: 5 * time.Second}
	nothing, other := &scheduler.JobSpec{Name: "sort"}, &scheduler.JobSpec{Name: "grep"}
	otherInput := &scheduler.JobSpec{Name: "grep", Input: scheduler.Bytes(5e9)}
	lesson := func(name string, gb, seconds float64) *scheduler.Lesson {
		return &scheduler.Lesson{Name: name, Input: int64(gb * 1e9), MapTime: time.Duration(seconds) * time.Second, ReduceTime: 9 * time.Second, ReduceWork: 4 * time.Second}
	}
	for _, c := range []struct {
		name  string
		from  string
		wait  bool
		learn []*scheduler.Lesson
		spec  *scheduler.JobSpec
		want  float64
		known bool
	}{
		{"work", "auto", true, nil, work, 30, true},
		{"work is asked for", "work", true, nil, work, 30, true},
		{"work is not asked for", "input", true, nil, work, 1000, true},
		{"input", "work", true, nil, input, 1000, true},
		{"splits", "auto", true, nil, split, 1000, true},
		{"lengths of tasks", "auto", true, nil, times, 18, true},
		{"lengths of maps", "auto", true, nil, maps, 8, true},
		{"lengths of reduces", "auto", true, nil, reduces, 10, true},
		{"nothing", "auto", true, nil, nothing, 0, false},
		{"input like one of its name", "auto", true, []*scheduler.Lesson{lesson("sort", 1, 11), lesson("grep", 1, 91)}, input, 100, true},
		{"input like all", "auto", true, []*scheduler.Lesson{lesson("sort", 1, 11), lesson("find", 1, 91)}, otherInput, 300, true},
		{"its name had no input", "auto", true, []*scheduler.Lesson{lesson("grep", 0, 11), lesson("find", 1, 91)}, otherInput, 500, true},
		{"without what reduces waited", "auto", false, []*scheduler.Lesson{lesson("sort", 1, 11)}, input, 75, true},
		{"the mean of its name", "auto", true, []*scheduler.Lesson{lesson("sort", 1, 11), lesson("sort", 0, 31), lesson("grep", 1, 91)}, nothing, 30, true},
		{"the mean of all", "auto", true, []*scheduler.Lesson{lesson("sort", 1, 11), lesson("find", 0, 31)}, other, 30, true},
		{"work where input is asked for and something was learnt", "input", true, []*scheduler.Lesson{lesson("sort", 1, 11)}, work, 100, true},
	} {
		cfg := DefaultPredictConfig()
		cfg.Noise, cfg.From, cfg.CountWait = 0, c.from, c.wait
		p := make2(NewPredictor(cfg))(t)
		for _, l := range c.learn {
			p.Learn(l)
		}
		if got, known := p.Size(c.spec), p.Known(c.spec); got != c.want || known != c.known {
			t.Errorf("%s: %g (%v), want %g (%v)", c.name, got, known, c.want, c.known)
		}
	}
	for _, c := range []struct {
		from string
		wait bool
		work time.Duration
		want float64
	}{{"auto", true, 0, 20}, {"auto", true, 1, 15}, {"input", true, 1, 20}, {"auto", false, 0, 15}, {"input", false, 1, 15}} {
		cfg := DefaultPredictConfig()
		cfg.From, cfg.CountWait = c.from, c.wait
		l := lesson("sort", 1, 11)
		l.Work = c.work
		if got := make2(NewPredictor(cfg))(t).Learn(l); got != c.want {
			t.Errorf("%+v: the job took %g slot-seconds", c, got)
		}
	}
}

// TestUnknownSizes: jobs of which nobody knows the size are spread over the partitions as their shares are, each once, however often it
// says that it is ready; one whose driver knows better goes where it belongs, in the order in which jobs came.
func TestUnknownSizes(t *testing.T) {
	r := newRig(t, policy(t, SITA, func(c *Config) { c.Limits, c.Shares = []float64{100}, []float64{0.3, 0.7} }), 10, scheduler.Capacity{MapSlots: 1})
	p := r.Policy().(*Policy)
	var got []int
	for id := range scheduler.JobID(10) {
		r.Send(scheduler.JobSubmitted(&scheduler.JobSpec{ID: id, HasDriver: true, Maps: 1}))
		q, _ := p.QueueOf(r.View().Job(id))
		got = append(got, q)
	}
	if want := []int{2, 2, 1, 2, 2, 1, 2, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("queues %v, want %v", got, want)
	}
	for id, s := range []*scheduler.JobSpec{{ID: 0, HasDriver: true, Maps: 1}, {ID: 1, HasDriver: true, Maps: 1, Work: 50 * second}, {ID: 2, HasDriver: true, Maps: 1, Work: 101 * second}} {
		r.Send(scheduler.JobAdmitted(scheduler.JobID(id)))
		r.Send(scheduler.JobReady(scheduler.JobID(id), s))
		if q, _ := p.QueueOf(r.View().Job(scheduler.JobID(id))); q != []int{2, 1, 2}[id] {
			t.Errorf("job %d is in queue %d once its driver is ready", id, q)
		}
	}
	line := p.lines[1][scheduler.Map]
	if line.Len() != 2 || line.At(0).ID() != 0 || line.At(1).ID() != 2 {
		t.Errorf("%d jobs wait in queue 2, not the first and the third", line.Len())
	}
}

// TestOneQueue: one queue is plain first come first served, under every discipline; none is refused.
func TestOneQueue(t *testing.T) {
	for _, info := range []*scheduler.Info{&FBQInfo, &TAGSInfo, &SITAInfo, &COMPInfo} {
		for _, params := range []map[string]string{{"k": "1"}, {"k": "1", "fit": "true"}} {
			if info == &COMPInfo {
				delete(params, "fit")
			}
			made, err := info.Make(params)
			if err != nil {
				t.Fatalf("%s %v: %v", info.Name, params, err)
			}
			r := newRig(t, made.(*Policy), 1, scheduler.Capacity{MapSlots: 2})
			r.Submit(&scheduler.JobSpec{ID: 1, Maps: 1, Work: 90 * second}, &scheduler.JobSpec{ID: 2, Maps: 2, Work: second})
			r.Want(r.Serve(0), 1, 2)
		}
	}
	if _, err := New(Config{Discipline: COMP, K: 0, Predict: DefaultPredictConfig()}); err == nil {
		t.Error("no queue at all is taken")
	}
}

// TestSharesOfTheCluster: queues whose limits follow the cluster have equal parts of it, unless parts are given or published.
func TestSharesOfTheCluster(t *testing.T) {
	for _, c := range []struct {
		params map[string]string
		want   []float64
	}{
		{map[string]string{"k": "4", "fit": "true"}, []float64{0.25, 0.25, 0.25, 0.25}},
		{map[string]string{"fit": "true"}, []float64{0.3, 0.7}},
		{map[string]string{"fit": "true", "shares": "0.1,0.9"}, []float64{0.1, 0.9}},
	} {
		made, err := SITAInfo.Make(c.params)
		if err != nil {
			t.Fatal(err)
		}
		if got := made.(*Policy).cfg.Shares; !slices.Equal(got, c.want) {
			t.Errorf("%v: shares %v, want %v", c.params, got, c.want)
		}
	}
}
