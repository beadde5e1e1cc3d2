package integration

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// openAll lets everybody pass the directories down to one.
func openAll(t *testing.T, dir string) {
	t.Helper()
	for d := dir; d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// startKeyed is a cluster of one worker with a key, whose directories everybody may pass: what is denied
// is denied by the worker, not by luck.
func startKeyed(t *testing.T, flags ...string) (*processes, string) {
	return startKeyedAs(t, 0, flags...)
}

// startKeyedAs is startKeyed with a worker that runs as a user; 0 is root.
func startKeyedAs(t *testing.T, uid uint32, flags ...string) (*processes, string) {
	t.Helper()
	require.Tool(t, "go")
	require.Root(t)
	p := &processes{t: t, flags: flags, dir: t.TempDir(), run: map[string]*exec.Cmd{}, users: map[string]uint32{"w1": uid}}
	openAll(t, p.dir)
	key := filepath.Join(p.dir, "cluster.key")
	if err := os.WriteFile(key, []byte(secure.Generate()), 0o600); err != nil {
		t.Fatal(err)
	}
	if uid != 0 {
		openAll(t, filepath.Dir(millrace))
		w1 := filepath.Join(p.dir, "w1")
		if err := errors.Join(os.Mkdir(w1, 0o755), os.Chown(w1, int(uid), int(uid)), os.Chown(key, int(uid), int(uid))); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("MILLRACE_KEY", key)
	var err error
	if p.inherits, err = os.Create(filepath.Join(p.dir, "open")); err != nil { // as a shell would leave it open for the daemons
		t.Fatal(err)
	}
	t.Cleanup(func() { p.inherits.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	p.startMaster()
	p.startWorker("w1", "r1")
	k, err := secure.Load(key)
	if err != nil {
		t.Fatal(err)
	}
	p.key = k
	if p.cl, err = client.New(client.Config{Master: p.addr, User: "ann", Key: k, Patience: time.Minute}); err != nil {
		t.Fatal(err)
	}
	p.wait("the worker is up", func() bool {
		nodes, err := p.cl.Nodes(t.Context())
		stores, err2 := p.cl.DFS().Nodes(t.Context())
		mode, err3 := p.cl.DFS().SafeMode(t.Context(), "")
		return err == nil && err2 == nil && err3 == nil && len(nodes) == 1 && len(stores) == 1 && !mode.On
	})
	return p, key
}

func buildHostile(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "hostile")
	if out, err := exec.Command("go", "build", "-o", exe, "./testprog/hostile").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// lonely is a number of seconds that only programs of this test sleep for.
func lonely() string { return fmt.Sprint(900_000_000 + os.Getpid()) }

// victim is a job of commands that leaves map output on the worker and waits in its reduce.
func (p *processes) victim() wire.JobID {
	p.t.Helper()
	id, err := p.cl.Submit(p.t.Context(), wire.JobSpec{
		Name: "victim", User: "ann", Stages: 1, Program: wire.Program{Builtin: "streaming", Args: []string{
			"--mapper", "cat", "--reducer", "echo secret >mine; sleep " + lonely() + "; cat", "--input", "dfs:/in", "--output", "dfs:/victim",
		}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.wait("the victim's reduce runs", func() bool {
		s, err := p.cl.Status(p.t.Context(), id)
		found, _ := filepath.Glob(filepath.Join(p.dir, "w1", "scratch", "*", "*", "*", "mine"))
		return err == nil && s.Reduces.Running == 1 && len(found) == 1
	})
	return id
}

func (p *processes) isolation() string {
	nodes, err := p.cl.Nodes(p.t.Context())
	if err != nil || len(nodes) != 1 {
		p.t.Fatalf("%v, %v", nodes, err)
	}
	return nodes[0].Isolation
}

// An attack is one that the hostile program tries.
type attack struct {
	name, target string
	failure      string // of the job, where it does not run on to say that it was denied
	open         string // without isolation: "" it is denied all the same; got; or why it is not tried
}

// attacks is row 81, and what else a program can try of what docs/security.md promises.
func (p *processes) attacks(key, stranger string, victim wire.JobID) []attack {
	pid := strconv.Itoa(p.run["w1"].Process.Pid)
	public := filepath.Join(p.dir, "public")
	if err := errors.Join(os.Mkdir(public, 0o777), os.Chmod(public, 0o777)); err != nil {
		p.t.Fatal(err)
	}
	segment := strconv.Itoa(1<<24 + os.Getpid())
	return append([]attack{
		{"key", key, "", "got"},
		{"environ", "/proc/" + pid + "/environ", "", "got"},
		{"proc", "", "", "got"},
		{"spill", filepath.Join(p.dir, "w1"), "", "got"},
		{"trace", pid, "", "got"},
		{"kill", pid, "", "it would kill the worker"},
		{"fork", lonely(), "", "nobody would end them"},
		{"memory", "700", "memory limit", ""},
		{"disk", "", "disk limit", "nobody would stop it"},
		{"shm", segment, "", ""}, // the first leaves it
		{"shm", segment, "", "got"},
		{"calls", "", "", "got"},
		{"files", p.inherits.Name(), "", ""},
		{"beside", public, "", "got"},
		{"fifo", filepath.Join(p.dir, "w1", "logs"), "", "got"},
		{"network", stranger, "", "got"},
		{"gate", stranger, "", "got"},
	}, p.callAttacks(key, stranger, victim)...)
}

// callAttacks are those on the cluster: no isolation is needed to deny them.
func (p *processes) callAttacks(key, stranger string, victim wire.JobID) []attack {
	private := p.private("/ann/private")
	pem, err := os.ReadFile(os.Getenv("MILLRACE_CERT")) // bob's: whoever runs a program can give it that
	if err != nil {
		p.t.Fatal(err)
	}
	return []attack{
		{"builtin", key + "\n" + string(pem), "", ""},
		{"admin", string(victim), "", ""},
		{"names", "/ann/private", "", ""},
		{"blocks", fmt.Sprint(uint64(private.ID), " ", private.Gen), "", ""},
		{"write", fmt.Sprint(uint64(private.ID), " ", private.Gen), "", ""},
		{"addresses", stranger, "", ""},
		{"openings", "", "", ""},
		{"crowd", "", "", ""},
		{"hash", strings.Repeat("0a", 32), "", ""},
		{"logs", string(victim), "", ""},
		{"renew", "", "", ""},
		{"counters", "x", "counters: ", ""},
		{"counters", "\x01", "more than 2 MiB on one line", ""},
		{"texts", "", "giant", ""},
		{"forge", string(victim), "", ""},
	}
}

// private makes a directory of ann's that nobody else may enter, with a file, and returns the file's block.
func (p *processes) private(path string) wire.Block {
	p.t.Helper()
	p.put(path, []byte("private"))
	err := p.cl.DFS().SetRights(p.t.Context(), wire.SetRightsRequest{Path: filepath.Dir(path), Owner: "ann", Mode: 0o700})
	loc, err2 := p.cl.DFS().Locate(p.t.Context(), path, 0, -1)
	if err := errors.Join(err, err2); err != nil {
		p.t.Fatal(err)
	}
	return loc.Blocks[0].Block
}

// becomes makes this process, and what it starts, a user with a certificate and no key.
func (p *processes) becomes(user string) {
	p.t.Helper()
	pem, err := p.key.PEM(secure.User, user, "")
	if err != nil {
		p.t.Fatal(err)
	}
	name := filepath.Join(p.t.TempDir(), user+".pem")
	writeFile(p.t, name, pem)
	p.t.Setenv("MILLRACE_CERT", name)
	p.t.Setenv("MILLRACE_KEY", "")
}

// tries runs an attack of bob's and reports whether it was denied.
func (p *processes) tries(exe string, a attack) (denied bool, said string) {
	p.t.Helper()
	p.tried++
	dir := fmt.Sprint("/user/bob/out-", p.tried)
	r := p.program(exe, "-attack", a.name, "-target", a.target, "-input", "dfs:/in", "-output", "dfs:"+dir)
	if a.failure != "" {
		return r.State == "FAILED" && strings.Contains(r.Error, a.failure) && len(r.Error) < wire.MaxText+1000, fmt.Sprintf("%.500v", r.Error)
	}
	if r.State != "SUCCEEDED" {
		return false, fmt.Sprintf("%+v", r)
	}
	out := string(p.output(dir))
	return strings.Contains(out, "denied:"+a.name) && !strings.Contains(out, "got:") && !strings.Contains(out, "unclear:"), out
}

// TestHostilePrograms is FAULTS row 81: a program that was let into the cluster gets nowhere, and those
// beside it notice nothing.
func TestHostilePrograms(t *testing.T) {
	require.Faults(t)
	p, key := startKeyed(t, "--task-processes", "64", "--task-disk", "24MiB", "--memory", "64MiB", "--containers", "5", "--gossip", "", "--task-network", "cluster")
	exe := buildHostile(t)
	addr, calls := passerBy(t)
	p.put("/in", []byte("a b c\nPOISON d\ne f\n"))
	if got := p.isolation(); got != "user" {
		t.Fatalf("isolation is %q", got)
	}
	victim := p.victim()
	pid := p.run["w1"].Process.Pid
	p.becomes("bob")
	denied := 0
	all := p.attacks(key, addr, victim)
	for _, a := range all {
		if ok, said := p.tries(exe, a); ok {
			denied++
		} else {
			t.Errorf("%s: %s", a.name, said)
		}
	}
	t.Logf("%d of %d denied", denied, len(all))
	if n := calls.Load(); n > 0 {
		t.Errorf("a program has called a stranger %d times", n)
	}
	if r := p.program(program(t, "wordcount"), "-input", "dfs:/in", "-output", "dfs:/user/bob/good"); r.State != "SUCCEEDED" {
		t.Errorf("a good job beside it: %+v", r)
	}
	if p.run["w1"].ProcessState != nil || p.run["w1"].Process.Pid != pid {
		t.Error("the worker did not survive")
	}
	p.unharmed(victim)
	p.endVictim(victim)
}

// unharmed looks at what the attacks were about: the victim has run every task once and was told of no error, and ann's file is as it was.
func (p *processes) unharmed(victim wire.JobID) {
	p.t.Helper()
	if s, err := p.cl.Status(p.t.Context(), victim); err != nil || s.Reduces.Running != 1 || s.Maps.Done != s.Maps.Total || s.Attempts != 3 || s.LastError != "" {
		p.t.Errorf("the victim: %+v, %v", s, err)
	}
	f, err := p.cl.DFS().Open(p.t.Context(), "/ann/private")
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "private" {
		p.t.Errorf("after the attacks ann's file has %q, %v", b, err)
	}
}

// endVictim kills a job and looks for what it, and the attackers, leave.
func (p *processes) endVictim(id wire.JobID) {
	p.t.Helper()
	if err := p.cl.Kill(p.t.Context(), id, "enough"); err != nil {
		p.t.Fatal(err)
	}
	p.wait("no process and no sandbox of a program is left", func() bool {
		out, _ := exec.Command("pgrep", "-f", "sleep "+lonely()).Output() // nothing found is an error of pgrep's
		sandboxes, _ := filepath.Glob(filepath.Join(p.dir, "w1", "scratch", "*", "sandbox-*"))
		return len(out) == 0 && len(sandboxes) == 0
	})
}

// TestWithoutIsolation: the node says so, and what isolation denies gets through; this proves that the test above bites. What the cluster
// denies is denied all the same.
func TestWithoutIsolation(t *testing.T) {
	require.Faults(t)
	p, key := startKeyed(t, "--isolation", "none", "--memory", "64MiB", "--containers", "5", "--gossip", "")
	exe := buildHostile(t)
	p.put("/in", []byte("POISON d\n"))
	if got := p.isolation(); got != "none" {
		t.Errorf("isolation is %q", got)
	}
	victim := p.victim()
	addr, _ := passerBy(t)
	p.becomes("bob")
	for _, a := range p.attacks(key, addr, victim) {
		if a.open != "" && a.open != "got" {
			continue
		}
		if a.name == "shm" {
			t.Cleanup(func() { p.removeSegment(a.target) })
		}
		if denied, said := p.tries(exe, a); denied != (a.open == "") || !denied && !strings.Contains(said, "got:"+a.name) {
			t.Errorf("%s: %s", a.name, said)
		}
	}
	p.unharmed(victim)
	p.endVictim(victim)
}

// TestHostileProgramsWithoutRoot: a worker that is an ordinary user keeps programs, which have the same user, from its key, its files, its memory and
// itself. What that leaves open is tried, too, so that docs/security.md says what is so.
func TestHostileProgramsWithoutRoot(t *testing.T) {
	require.Faults(t)
	uid := uint32(2_000_000 + os.Getpid())
	p, key := startKeyedAs(t, uid, "--memory", "64MiB", "--containers", "5", "--gossip", "")
	exe := buildHostile(t)
	p.put("/in", []byte("a b c\nPOISON d\ne f\n"))
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno != 0 {
		t.Skipf("skipped: this kernel has no Landlock: %v", errno)
	}
	if got := p.isolation(); got != "landlock" {
		t.Fatalf("isolation is %q", got)
	}
	victim := p.victim()
	addr, _ := passerBy(t)
	p.becomes("bob")
	open := map[string]bool{"network": true, "gate": true}
	for _, a := range p.attacks(key, addr, victim) {
		if a.name == "fork" || a.name == "disk" || a.name == "shm" { // nothing bounds them, and they would stay
			continue
		}
		denied, said := p.tries(exe, a)
		if denied == open[a.name] {
			t.Errorf("%s: denied %v: %s", a.name, denied, said)
		}
	}
	if r := p.program(program(t, "wordcount"), "-input", "dfs:/in", "-output", "dfs:/user/bob/good"); r.State != "SUCCEEDED" {
		t.Errorf("a good job beside it: %+v", r)
	}
	p.unharmed(victim)
	p.endVictim(victim)
}

// removeSegment removes shared memory that the hostile program has left.
func (p *processes) removeSegment(key string) {
	n, err := strconv.Atoi(key)
	if err != nil {
		p.t.Fatal(err)
	}
	if id, err := unix.SysvShmGet(n, 0, 0); err == nil {
		if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
			p.t.Error(err)
		}
	}
}

// TestUnreachableDirectory: the worker's directory is below one that others may not pass, as root's home.
func TestUnreachableDirectory(t *testing.T) {
	require.Faults(t)
	require.Root(t)
	p := startProcesses(t, 1) // its directory is below one of mode 0700
	p.runsWithSideFile()
}

// TestRelativeDirectory: a worker that was given a directory relative to where it was started runs jobs with side files.
func TestRelativeDirectory(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 0)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Rel(here, filepath.Join(p.dir, "w1"))
	if err != nil {
		t.Fatal(err)
	}
	p.start("w1", "worker", "--name", "w1", "--master", p.addr, "--dir", dir, "--memory", "64MiB")
	p.wait("it is up", func() bool {
		stores, err := p.cl.DFS().Nodes(t.Context())
		return err == nil && len(stores) == 1 && p.state("w1") == "up"
	})
	p.runsWithSideFile()
}

// runsWithSideFile runs a job of commands with a file beside them.
func (p *processes) runsWithSideFile() {
	t := p.t
	t.Helper()
	side := filepath.Join(t.TempDir(), "map.sh")
	if err := os.WriteFile(side, []byte("touch here; tr ' ' '\\n'; id -u >&2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.put("/in", []byte("b a\nc a\n"))
	cmd := exec.Command(millrace, "run", "streaming", "--master", p.addr, "--mapper", "sh map.sh", "--combiner", "cat", "--reducer", "uniq -c",
		"--file", side, "--input", "dfs:/in", "--output", "dfs:/out", "--reducers", "1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := strings.Join(strings.Fields(string(p.output("/out"))), " "); got != "2 a 1 b 1 c" {
		t.Errorf("got %q", got)
	}
}

// TestTokensOfOtherJobs: a task's certificate opens its own job's map output and no other's.
func TestTokensOfOtherJobs(t *testing.T) {
	k := newKey(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: k})
	task := rpc.Caller{User: "bob", Job: "job-77"}
	addr := c.Workers[0].Worker.Addr()
	id := c.Submit(wire.JobSpec{}, "sleep", "--maps", "1", "--map-time", "1m", "--output", "dfs:/out")
	ask := func(job wire.JobID, user string) error {
		cfg, err := k.Client(secure.Task, string(job), user)
		if err != nil {
			t.Fatal(err)
		}
		cl := rpc.NewClient(cfg)
		defer cl.Close()
		_, err = api.DFSStat.Call(t.Context(), cl, c.Addr, wire.PathRequest{Path: "/"})
		return err
	}
	if err := ask(id, c.Status(id).User); err != nil {
		t.Errorf("a task of a job that runs: %v", err)
	}
	for job, user := range map[wire.JobID]string{"job-77": "bob", id: "bob"} {
		if err := ask(job, user); wire.KindOf(err) != wire.Denied {
			t.Errorf("a task of %s of %s, which is not here: %v", job, user, err)
		}
	}
	if got := knock(t, k, task, addr, "GET /shuffle/job-1/0?p=0"); got != http.StatusForbidden {
		t.Errorf("output of another job: status %d, want 403", got)
	}
	if n := refusedAt(t, c.Workers[0], "GET /shuffle/{job}/{stage}", "bob"); n != 1 {
		t.Errorf("the worker's audit log has %d such refusals, want 1", n)
	}
	if got := knock(t, k, task, addr, "GET /shuffle/job-77/0?p=0"); got == http.StatusForbidden {
		t.Errorf("output of its own job: status %d", got)
	}
}
