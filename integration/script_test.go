package integration

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/script"
)

// scripts lets a master run scripts as the command does.
func scripts(m *master.Config) {
	m.ScriptHost = func() (*exec.Cmd, error) { return exec.Command(millrace, "script-host"), nil }
	m.Policy, m.Admission, m.Jobs.SecondAttempts.Off = "fifo", "unlimited", true
}

func setScript(t *testing.T, c *testcluster.Cluster, by *rpc.Client, name, text string) error {
	t.Helper()
	_, err := api.SchedulerSet.Call(t.Context(), by, c.Addr, wire.Choice{Name: scheduler.ScriptName, Params: script.Params(name, text)})
	return err
}

// urgentFirst serves jobs by their names.
const urgentFirst = `
def key(job, node, now):
    return 0 if job.name.startswith("urgent") else 1
`

// passes reports how many maps of a job that came before start after the last of an urgent one that came while it ran.
func passes(t *testing.T, c *testcluster.Cluster, log *decisions, n int) int {
	t.Helper()
	_, after := smallBesideLarge(t, c, log, fmt.Sprint("urgent", n), fmt.Sprint("large", n))
	return after
}

// TestScriptLive: under a script the cluster's order is the script's, at once, and again after a restart of the master, until another policy
// is put in place. scheduler get shows the text, the decision log replays, and so does the history.
func TestScriptLive(t *testing.T) {
	t.Parallel()
	var log decisions
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) { scripts(m); m.Jobs.Decisions = log.add }})
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.star")
	if err := os.WriteFile(file, []byte(urgentFirst), 0o644); err != nil {
		t.Fatal(err)
	}
	cli := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(millrace, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	at := []string{"--master", c.Addr}
	if n := passes(t, c, &log, 1); n > 0 {
		t.Fatalf("under fifo %d maps of the large job start after the urgent one", n)
	}
	cli(append(at, "scheduler", "set", "script:"+file)...)
	if n := passes(t, c, &log, 2); n < 20 {
		t.Errorf("under the script %d maps of the large job start after the urgent one, want 20 and more", n)
	}
	if out := cli(append(at, "scheduler", "get")...); !strings.Contains(out, "assignment script mine\n") || !strings.Contains(out, strings.TrimSpace(urgentFirst)) {
		t.Errorf("scheduler get does not show the script:\n%s", out)
	}
	if out := cli(append(at, "scheduler", "log")...); !strings.Contains(out, "script code=(2 lines) name=mine is in place") || !strings.Contains(out, "has the smallest key: 0") {
		t.Errorf("the log says nothing of the script:\n%s", out)
	}
	decided, past := filepath.Join(dir, "decisions.jsonl"), filepath.Join(dir, "past.jsonl")
	cli(append(at, "scheduler", "log", "--export", decided)...)
	if out := cli("scheduler", "verify", decided); !strings.Contains(out, "the simulator decides the same") {
		t.Error(out)
	}
	cli(append(at, "job", "history", "--export", past)...)
	if out := cli("whatif", past, "--policies", "fifo"); !strings.Contains(out, "fifo, then mine") {
		t.Errorf("the history does not replay the script:\n%s", out)
	}
	restart := func(want string) {
		t.Helper()
		if err := c.Master.Close(); err != nil {
			t.Fatal(err)
		}
		c.StartMaster()
		if p, err := api.SchedulerGet.Call(t.Context(), c.Client, c.Addr, struct{}{}); err != nil || p.Policy.Name != want || want == "script" && p.Policy.Params["code"] != urgentFirst {
			t.Fatalf("after a restart %+v decides, want %s: %v", p.Policy, want, err)
		}
	}
	restart("script")
	if n := passes(t, c, &log, 3); n < 20 {
		t.Errorf("after the restart %d maps of the large job start after the urgent one, want 20 and more", n)
	}
	cli(append(at, "scheduler", "set", "fair")...)
	restart("fifo")
}

// TestScriptPlayed: the player shows a live day under a script as it was: whose turn each policy was, all that started, and the script's
// own reasons, of which the log that it is made from has none.
func TestScriptPlayed(t *testing.T) {
	t.Parallel()
	var log decisions
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) { scripts(m); m.Jobs.Decisions = log.add }})
	if err := setScript(t, c, c.Client, "mine", urgentFirst); err != nil {
		t.Fatal(err)
	}
	passes(t, c, &log, 1)
	if _, err := api.SchedulerSet.Call(t.Context(), c.Client, c.Addr, wire.Choice{Name: "fair"}); err != nil {
		t.Fatal(err)
	}
	c.Finish(sleepers(c, "last", 4))
	dir := t.TempDir()
	decided, page := filepath.Join(dir, "decisions.jsonl"), filepath.Join(dir, "day.html")
	for _, args := range [][]string{{"--master", c.Addr, "scheduler", "log", "--export", decided}, {"play", decided, "--out", page}} {
		if out, err := exec.Command(millrace, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	day := played(t, page)
	if day.Name != "fifo, then mine, then fair" {
		t.Errorf("the page says that %s decided", day.Name)
	}
	if started := log.count(func(s drive.Step) bool { return s.Do == drive.Launch }); day.Attempts != started || day.Attempts < 87 {
		t.Errorf("the page has %d attempts, the master started %d", day.Attempts, started)
	}
	for _, want := range []string{"urgent1 has the smallest key: 0", "large1 has the smallest key: 1"} {
		if !slices.ContainsFunc(day.Texts, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no decision says %q: %q", want, day.Texts)
		}
	}
	maps := map[string]int32{}
	for _, j := range day.Jobs {
		if maps[j.Name] = j.Maps; j.End < 0 || j.Failed {
			t.Errorf("%+v has not ended well", j)
		}
	}
	if want := map[string]int32{"urgent1": 3, "large1": 80, "last": 4}; !reflect.DeepEqual(maps, want) {
		t.Errorf("the page has %v, want %v", maps, want)
	}
}

// playedDay is the head of what a page plays.
type playedDay struct {
	Name     string
	Attempts int
	Texts    []string
	Jobs     []play.Job
}

// played reads the recording of a page that plays one.
func played(t *testing.T, page string) playedDay {
	t.Helper()
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(html), `<script id="data" type="text/plain">`)
	text, _, found := strings.Cut(rest, "</script>")
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if !found || err != nil {
		t.Fatalf("the page has no recording: %v", err)
	}
	packed, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	var days []playedDay
	if err := json.Unmarshal(packed[4:4+binary.LittleEndian.Uint32(packed)], &days); err != nil || len(days) != 1 {
		t.Fatalf("%d recordings, %v", len(days), err)
	}
	return days[0]
}

// TestScriptsAreTried: a script that cannot be read, breaks a promise or is too large is refused with what is wrong, and the policy stays;
// who is no administrator may set none, not even a good one.
func TestScriptsAreTried(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: newKey(t), Master: scripts})
	admin, ann := newPerson(t, c, secure.Admin, "eve"), newPerson(t, c, secure.User, "ann")
	if err := setScript(t, c, ann.Client, "mine", urgentFirst); wire.KindOf(err) != wire.Denied {
		t.Errorf("ann sets a script: %v", err)
	}
	for text, want := range map[string]string{
		"def key(job, node, now):\n    return job.nothing\n": "mine:2: in key: job has no .nothing",
		"def key(": "mine:1",
		"def assign(node, cluster, now):\n    return idle('later')\n":                                                                                     "broken: every job ends",
		"def key(job, node, now):\n    return max(range(1 << 40))\n":                                                                                      "at most 1000000",
		"x = ['x' * (1 << 28) for i in range(9)]\ndef key(job, node, now):\n    return 1\n":                                                               "of memory",
		"def bomb():\n    t = (1,)\n    for i in range(60):\n        t = (t, t)\n    return {t: 1}\nx = bomb()\ndef key(job, node, now):\n    return 1\n": "took more than",
		strings.Repeat("#", script.MaxText+1):                                                                                                             "at most 65536 bytes",
		"":                                                                                                                                                "give its text",
	} {
		err := setScript(t, c, admin.Client, "mine", text)
		if wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	if p, err := api.SchedulerGet.Call(t.Context(), ann.Client, c.Addr, struct{}{}); err != nil || p.Policy.Name != "fifo" {
		t.Errorf("%+v, %v", p.Policy, err)
	}
	if err := setScript(t, c, admin.Client, "mine", urgentFirst); err != nil {
		t.Error(err)
	}
}

// traps are scripts that behave until they see a job of that name.
var traps = map[string]struct{ does, want string }{
	"loops":     {"for i in range(1000000):\n            i = i + 1", "too many steps"},
	"hangs":     {"t = (1,)\n        for i in range(60):\n            t = (t, t)\n        x = {t: 1}", "took more than 1s"},
	"allocates": {"x = ['x' * (1 << 28) for i in range(9)]", "of memory"},
	"breaks":    {"return 1 // 0", "division by zero"},
	"nonsense":  {"return None", "key returned None"},
	"compares":  {"return 'x'", "keys of"},
	"cheats":    {"job.held = 7", "can't assign to .held"},
}

// TestScriptsThatFail: what a script does when it fails on a live cluster is its own end and nobody else's. The jobs go on under the policy that the
// master was started with, no worker is lost, the failure is counted and shown, and the next script can be set.
func TestScriptsThatFail(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: scripts})
	broken := int64(0)
	for name, trap := range traps {
		text := fmt.Sprintf("def key(job, node, now):\n    if job.name == 'trap':\n        %s\n    return 1\n", trap.does)
		if err := setScript(t, c, c.Client, name, text); err != nil {
			t.Fatal(err)
		}
		before := c.Submit(wire.JobSpec{Name: "before"}, "sleep", "--maps", "40", "--reduces", "0", "--map-time", "50ms", "--output", "dfs:/tmp/"+name+"/before")
		c.Wait("the first job is under way", func() bool { return c.Status(before).Maps.Done > 3 })
		began := time.Now()
		caught := c.Submit(wire.JobSpec{Name: "trap"}, "sleep", "--maps", "3", "--reduces", "0", "--map-time", "50ms", "--output", "dfs:/tmp/"+name+"/trap")
		for _, id := range []wire.JobID{before, caught} {
			if s := c.Finish(id); s.State != "SUCCEEDED" {
				t.Fatalf("%s: %+v", name, s)
			}
		}
		s, err := api.SchedulerStatus.Call(t.Context(), c.Client, c.Addr, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Policy.Name != "fifo" || s.Broken != broken+1 || !strings.Contains(s.LastBroken, trap.want) ||
			!slices.ContainsFunc(s.Notes, func(n string) bool {
				return strings.Contains(n, "fifo has taken the place of a script that failed: "+name)
			}) {
			t.Errorf("%s: %+v, want one broken rule more than %d, about %q", name, s, broken, trap.want)
		}
		broken = s.Broken
		for _, n := range c.Nodes() {
			if n.State != "up" {
				t.Errorf("%s: %s is %s", name, n.Node, n.State)
			}
		}
		t.Logf("%s: %v until both jobs were done: %s", name, time.Since(began).Round(time.Millisecond), s.LastBroken)
	}
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	c.StartMaster()
	if p, err := api.SchedulerGet.Call(t.Context(), c.Client, c.Addr, struct{}{}); err != nil || p.Policy.Name != "fifo" {
		t.Errorf("a script that failed is back after a restart: %+v, %v", p.Policy, err)
	}
}
