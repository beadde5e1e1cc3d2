package scripthost

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/scheduler/script"
)

// TestMain is also the process of a script.
func TestMain(m *testing.M) {
	if os.Getenv("SCRIPT_HOST") == "" {
		os.Exit(m.Run())
	}
	err := Serve(os.Stdin, os.Stdout, func(why string) { fmt.Fprintln(os.Stderr, why); os.Exit(1) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func self() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"SCRIPT_HOST=1"}
	return cmd
}

// start starts a script that a busy machine does not end: what a test does not bound has a minute.
func start(t testing.TB, cmd *exec.Cmd, text string, l Limits) *Host {
	t.Helper()
	l.Load, l.Answer, l.Burst = cmp.Or(l.Load, time.Minute), cmp.Or(l.Answer, time.Minute), cmp.Or(l.Burst, time.Minute)
	h, err := Start(t.Context(), cmd, "s", text, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// forms are scripts that look at all that there is.
var forms = map[string]string{
	"key": `
def key(job, node, now):
    state[job.id] = state.get(job.id, 0) + 1
    return (job.maps_on(node) == 0, job.maps_near(node) == 0, state[job.id] % 3, job.held, job.submitted, str(node.rack), now - job.submitted)
`,
	"assign": `
def assign(node, cluster, now):
    kept = state.get("job")
    for kind in ("reduce", "map"):
        best = None
        for job in cluster.jobs(kind):
            if best == None or (job.maps_on(node) > 0, job == kept, -job.done_maps) > (best.maps_on(node) > 0, best == kept, -best.done_maps):
                best = job
        if best != None:
            state["job"] = best
            return run(best, kind, "{job} of %d waiting, %d free, after %s" % (cluster.waiting, cluster.free, kept and kept.pending_maps))
    return idle("nobody, on {node} with %d" % node.free)
`,
}

// TestDecidesTheSame: a script in a process of its own decides what it decides in this one, for the same reasons, in random situations
// with and without faults.
func TestDecidesTheSame(t *testing.T) {
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			here := func() scheduler.Policy {
				p, err := script.New("s", text)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			schedulertest.Alike(t, 30, 1000, here, func() scheduler.Policy { return start(t, self(), text, Limits{}).Policy() })
		})
	}
}

// ask asks a script about one job on one node, twice.
func ask(t *testing.T, h *Host) error {
	t.Helper()
	r := schedulertest.NewRig(t, h.Policy(), 1, scheduler.Capacity{Containers: 2})
	r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 4, Reduces: 1})
	r.Serve(0)
	if got := r.Serve(0); h.Policy().Err() != nil && len(got) > 0 {
		t.Errorf("%v is decided after %v", got, h.Policy().Err())
	}
	return h.Policy().Err()
}

// bomb takes two to the sixty steps of Go, and few of its own: only the process's end ends it.
const bomb = "def key(job, node, now):\n    t = (1,)\n    for i in range(60):\n        t = (t, t)\n    return {t: 1}\n"

// TestBounds: a script that hangs is ended, one that takes too large a part of the time is, and both say so.
func TestBounds(t *testing.T) {
	begin := time.Now()
	err := ask(t, start(t, self(), bomb, Limits{Answer: 200 * time.Millisecond}))
	if err == nil || !strings.Contains(err.Error(), "s: the script took more than 200ms for an answer") || time.Since(begin) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if _, err := Start(t.Context(), self(), "s", bomb+"x = key(1, 2, 3)\n", Limits{Load: 200 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "to read and try the script") {
		t.Errorf("a script that hangs when it is read: %v", err)
	}
	h := start(t, self(), forms["key"], Limits{Burst: time.Nanosecond, Share: 1e-9})
	if err := ask(t, h); err == nil || !strings.Contains(err.Error(), "of the master's time") {
		t.Errorf("a script that takes all of the time: %v", err)
	}
}

// TestShareOfTime: what a script has taken comes back with time, at its share, up to what it may take at once, and each second counts once.
func TestShareOfTime(t *testing.T) {
	h := start(t, self(), forms["key"], Limits{Burst: 10 * time.Second, Share: 0.25})
	took := func(left, ago time.Duration) error {
		h.left, h.begun = left, time.Now().Add(-ago)
		_, err := h.Ask(&script.Question{})
		return err
	}
	if err := took(-time.Minute, 3*time.Minute); err == nil || !strings.Contains(err.Error(), "of the master's time") {
		t.Errorf("a minute too much, and three minutes: %v", err)
	}
	if err := took(-time.Minute, 5*time.Minute); err != nil {
		t.Errorf("a minute too much, and five minutes: %v", err)
	}
	if h.left > 10*time.Second {
		t.Errorf("it may take %v at once", h.left)
	}
	h.left = -5 * time.Second
	if _, err := h.Ask(&script.Question{}); err == nil {
		t.Error("the five minutes are counted twice")
	}
}

// TestEnds: a process that does not listen ends with its host, and one that is still reading its script with who waits for it.
func TestEnds(t *testing.T) {
	begin := time.Now()
	h := start(t, exec.Command("sh", "-c", `read x; echo '{"Form":{}}'; exec sleep 60`), "", Limits{})
	if err := h.Close(); err != nil || time.Since(begin) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := Start(ctx, exec.Command("sleep", "60"), "s", "", Limits{Load: time.Minute}); err == nil || time.Since(begin) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

// TestErrors: what is wrong in a script its policy says, in a few words however many the script has.
func TestErrors(t *testing.T) {
	for does, want := range map[string]string{"1 // 0": "division by zero", "fail('x' * 100000)": "xxx"} {
		err := ask(t, start(t, self(), "def key(job, node, now):\n    return "+does+"\n", Limits{}))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > maxErr+100 {
			t.Errorf("%s: %.100v", does, err)
		}
	}
	if _, err := Start(t.Context(), exec.Command("/does/not/exist"), "s", strings.Repeat("#", script.MaxText+1), Limits{}); err == nil || !strings.Contains(err.Error(), "at most 65536 bytes, not 65537") {
		t.Errorf("a script that is too long: %v", err)
	}
}

// slow takes an hour for one of its lines.
type slow struct{ line, at int }

func (s *slow) Write(b []byte) (int, error) {
	if s.line++; s.line == s.at {
		time.Sleep(time.Hour)
	}
	return len(b), nil
}

// TestAbandoned: a process that nobody waits for any more ends after a minute with one script or question, and never while nobody asks.
func TestAbandoned(t *testing.T) {
	for _, line := range []int{0, 1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			in, to := io.Pipe()
			go func() {
				ask := json.NewEncoder(to)
				for _, v := range []any{order{Name: "s", Text: forms["key"]}, script.Question{}, script.Question{}} {
					time.Sleep(2 * time.Hour)
					if err := ask.Encode(v); err != nil {
						t.Error(err)
					}
				}
				if err := to.Close(); err != nil {
					t.Error(err)
				}
			}()
			begin, ends := time.Now(), make(chan time.Duration, 9) // a timer's goroutine tells
			if err := Serve(in, &slow{at: line}, func(string) { ends <- time.Since(begin) }); err != nil {
				t.Error(err)
			}
			var left []time.Duration
			for len(ends) > 0 {
				left = append(left, <-ends)
			}
			var want []time.Duration
			if line > 0 {
				want = []time.Duration{time.Duration(line)*2*time.Hour + abandoned}
			}
			if !slices.Equal(left, want) {
				t.Errorf("line %d takes an hour: it ends after %v, want %v", line, left, want)
			}
		})
	}
}

// TestTried: a script that breaks a promise is not started.
func TestTried(t *testing.T) {
	lazy := "def assign(node, cluster, now):\n    return idle('later')\n"
	if _, err := Start(t.Context(), self(), "lazy", lazy, Limits{Situations: 4}); err == nil || !strings.Contains(err.Error(), "broken: every job ends") || !strings.Contains(err.Error(), "scheduler test lazy.star") {
		t.Errorf("%v", err)
	}
	if h := start(t, self(), forms["key"], Limits{Situations: 4}); ask(t, h) != nil {
		t.Error(h.Policy().Err())
	}
}

// TestProcessesThatLie: whatever stands in the place of the process, the policy has an error and decides nothing.
func TestProcessesThatLie(t *testing.T) {
	ready := `read x; echo '{"Form":{"Key":true}}'; `
	for name, c := range map[string]struct{ does, want string }{
		"ends":      {ready + "exit 3", "has ended"},
		"says why":  {ready + "echo out of luck >&2; exit 3", "s: out of luck"},
		"says much": {ready + "yes chatter | head -c 100000 >&2; echo out of luck >&2; exit 3", "chatter\nout of luck"},
		"nonsense":  {ready + "echo nonsense", "has ended"},
		"no end":    {ready + "yes | tr -d '\\n'", "has ended"},
		"other job": {ready + `while read x; do echo '{"OK":true,"Job":7}'; done`, "which was not asked about"},
		"no job":    {ready + `while read x; do echo '{}'; done`, "which was not asked about"},
		"driver":    {`read x; echo '{"Form":{}}'; while read x; do echo '{"OK":true,"Job":1,"Kind":2}'; done`, "where none may start"},
		"kind 9":    {`read x; echo '{"Form":{}}'; while read x; do echo '{"OK":true,"Job":1,"Kind":9}'; done`, "where none may start"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, exec.Command("sh", "-c", c.does), "", Limits{})
			if err := ask(t, h); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err := h.Close(); err != nil || h.cmd.ProcessState == nil {
				t.Errorf("%v, the process is left", err)
			}
		})
	}
	if _, err := Start(t.Context(), exec.Command("/does/not/exist"), "s", "", Limits{}); err == nil {
		t.Error("a process that is not there was started")
	}
}

// FuzzReply: no line ends the process.
func FuzzReply(f *testing.F) {
	for _, q := range []script.Question{{}, {Kind: 1, Jobs: [2][]script.Job{{{ID: 1}}, {{ID: 2}}}, Ended: []scheduler.JobID{1}}} {
		b, err := json.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"Kind":200}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, text := range forms {
			p, err := script.Load("s", text)
			if err != nil {
				t.Fatal(err)
			}
			if a := reply(p, line); len(a.Err) > maxErr+10 {
				t.Errorf("an error of %d bytes", len(a.Err))
			}
		}
	})
}

// FuzzAnswer: no answer of a process makes the policy decide what may not be.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"OK":true,"Job":1,"Kind":1,"Say":"{job}"}`), true)
	f.Add([]byte(`{"OK":true,"Job":-1,"Kind":250}`), false)
	f.Fuzz(func(t *testing.T, line []byte, key bool) {
		p := script.Asking("s", script.Form{Key: key, Local: true}, says(line))
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 4, Reduces: 1})
		for _, d := range r.Serve(0) {
			t.Logf("%v", d)
		}
	})
}

// says is a process that answers the same to all.
type says []byte

func (s says) Ask(*script.Question) (script.Answer, error) {
	var a answer
	err := json.Unmarshal(s, &a)
	return a.Answer, err
}

func BenchmarkAsk(b *testing.B) {
	h := start(b, self(), "def key(job, node, now):\n    return job.pending_maps\n", Limits{Burst: time.Hour})
	q := &script.Question{Jobs: [2][]script.Job{make([]script.Job, 20)}}
	for i := range q.Jobs[0] {
		q.Jobs[0][i] = script.Job{ID: scheduler.JobID(i), Name: "some job", User: "ann", Queue: "default"}
	}
	for b.Loop() {
		if _, err := h.Ask(q); err != nil {
			b.Fatal(err)
		}
	}
}
