package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/master"
)

// secretFile is a file that only the worker may read, in a directory that all may pass.
func secretFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, "cluster.key")
	if err := os.WriteFile(name, []byte("the secret word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func trySubmit(c *testcluster.Cluster, cl *rpc.Client, spec wire.JobSpec, words ...string) (wire.JobID, error) {
	spec.Program = wire.Program{Builtin: words[0], Args: words[1:]}
	spec.Name = words[0]
	stages, err := jobs.Parse(words[0], words[1:])
	if err != nil {
		return "", err
	}
	spec.Stages = len(stages)
	got, err := api.JobSubmit.Call(context.Background(), cl, c.Addr, spec)
	return got.Job, err
}

// TestLocalFilesOfWorkersAreNobodysInput: a user with a certificate names files of the worker's machine in a built-in job,
// by the API and in every way that the words allow. The master refuses each before anything is opened.
func TestLocalFilesOfWorkersAreNobodysInput(t *testing.T) {
	t.Parallel()
	key := secretFile(t)
	k := newKey(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: k})
	dfsPut(t, c, "/in", []byte("x\n"))
	for name, a := range map[string]struct {
		spec  wire.JobSpec
		words []string
	}{
		"input":          {wire.JobSpec{Output: "dfs:/o"}, []string{"grep", "--pattern=.", "--input=" + key, "--output=dfs:/o"}},
		"file scheme":    {wire.JobSpec{Output: "dfs:/o"}, []string{"grep", "--pattern=.", "--input=file:" + key, "--output=dfs:/o"}},
		"pattern":        {wire.JobSpec{Output: "dfs:/o"}, []string{"grep", "--pattern=.", "--input=" + filepath.Dir(key) + "/*", "--output=dfs:/o"}},
		"second input":   {wire.JobSpec{Output: "dfs:/o"}, []string{"grep", "--pattern=.", "--input=dfs:/in", "--input=" + key, "--output=dfs:/o"}},
		"false inputs":   {wire.JobSpec{Output: "dfs:/o", Inputs: []string{"dfs:/in"}}, []string{"grep", "--pattern=.", "--input=" + key, "--output=dfs:/o"}},
		"output":         {wire.JobSpec{Output: key + ".new"}, []string{"grep", "--pattern=.", "--input=dfs:/in", "--output=" + key + ".new"}},
		"claimed rights": {wire.JobSpec{Output: "dfs:/o", Local: wire.LocalWorker}, []string{"grep", "--pattern=.", "--input=" + key, "--output=dfs:/o"}},
	} {
		id, err := trySubmit(c, c.Client, a.spec, a.words...)
		if wire.KindOf(err) != wire.Denied || !strings.Contains(err.Error(), "dfs put") {
			t.Errorf("%s: %s, %v; want a refusal that says what to do", name, id, err)
		}
	}
	// What a submission says about its output must be what its words say.
	if _, err := trySubmit(c, c.Client, wire.JobSpec{Output: "dfs:/o"}, "grep", "--pattern=.", "--input=dfs:/in", "--output=dfs:/other"); wire.KindOf(err) != wire.Invalid {
		t.Errorf("two outputs: %v", err)
	}
	if _, err := os.Stat(key + ".new"); err == nil {
		t.Error("the output is there")
	}
}

// TestWorkersRefuseLocalPaths: what the master could not see, the worker refuses.
func TestWorkersRefuseLocalPaths(t *testing.T) {
	t.Parallel()
	key := secretFile(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: newKey(t), Master: func(m *master.Config) { m.Program = nil }})
	for name, words := range map[string][]string{
		"input":  {"grep", "--pattern=.", "--input=" + key, "--output=dfs:/o1"},
		"output": {"teragen", "--rows=1", "--output=" + key + ".new"},
	} {
		id, err := trySubmit(c, c.Client, wire.JobSpec{Output: "dfs:/claimed-" + name}, words...)
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Finish(id); s.State != "FAILED" || !strings.Contains(s.Error, "may not open") {
			t.Errorf("%s: %s: %s", name, s.State, s.Error)
		}
	}
	if _, err := os.Stat(key + ".new"); err == nil {
		t.Error("the output is there")
	}
}

// TestAdministratorsMayOptIn: with --local-paths admins, administrators may name local paths, and only they.
func TestAdministratorsMayOptIn(t *testing.T) {
	t.Parallel()
	key := secretFile(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: newKey(t), Master: func(m *master.Config) { m.LocalPaths = master.LocalPathsAdmins }})
	words := []string{"grep", "--pattern=secret", "--input=" + key, "--output=dfs:/tmp/o"}
	if _, err := trySubmit(c, c.Client, wire.JobSpec{Output: "dfs:/tmp/o"}, words...); wire.KindOf(err) != wire.Denied {
		t.Errorf("ann: %v", err)
	}
	admin := c.NewClient(secure.Admin, "root")
	defer admin.Close()
	id, err := trySubmit(c, admin, wire.JobSpec{Output: "dfs:/tmp/o"}, words...)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Finish(id); s.State != "SUCCEEDED" {
		t.Errorf("the administrator's job: %s: %s", s.State, s.Error)
	}
}

// TestLocalPathsWithTheUsersRights: with --local-paths own, a job of a root worker reads and writes local files as the
// account of its user does.
func TestLocalPathsWithTheUsersRights(t *testing.T) {
	t.Parallel()
	require.Root(t)
	key := secretFile(t)
	dir := filepath.Dir(key)
	open, theirs := filepath.Join(dir, "open"), filepath.Join(dir, "theirs")
	if err := os.WriteFile(open, []byte("a word\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if err := os.Chown(theirs, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: newKey(t), Master: func(m *master.Config) { m.LocalPaths = master.LocalPathsOwn }})
	cl := c.NewClient(secure.User, "nobody")
	defer cl.Close()
	run := func(input, output string) wire.JobStatus {
		id, err := trySubmit(c, cl, wire.JobSpec{Output: output}, "grep", "--pattern=word", "--input="+input, "--output="+output)
		if err != nil {
			t.Fatal(err)
		}
		c.Finish(id)
		s, err := api.JobStatus.Call(t.Context(), cl, c.Addr, wire.JobRequest{Job: id}) // its owner is told why
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	out := filepath.Join(theirs, "out")
	if s := run(open, out); s.State != "SUCCEEDED" {
		t.Errorf("their own: %s: %s", s.State, s.Error)
	}
	st, err := os.Stat(filepath.Join(out, "part-r-00000"))
	if err != nil {
		t.Fatal(err)
	}
	if uid := st.Sys().(*syscall.Stat_t).Uid; uid != nobody {
		t.Errorf("the output belongs to %d", uid)
	}
	if s := run(key, filepath.Join(theirs, "out2")); s.State != "FAILED" || !strings.Contains(s.Error, "permission denied") {
		t.Errorf("the key: %s: %s", s.State, s.Error)
	}
	if s := run(open, filepath.Join(dir, "out3")); s.State != "FAILED" || !strings.Contains(s.Error, "permission denied") {
		t.Errorf("another's directory: %s: %s", s.State, s.Error)
	}
}

// TestNobodyClaimsRootsFiles: a cluster without a key believes the names that callers give, but not about local files: a process of another
// user that says it is root, or a node that submits for root, may not name them.
func TestNobodyClaimsRootsFiles(t *testing.T) {
	t.Parallel()
	require.Root(t)
	key := secretFile(t)
	if err := os.Chmod(filepath.Dir(millrace), 0o755); err != nil {
		t.Fatal(err)
	}
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	for _, as := range []string{"root", "nobody"} {
		cmd := exec.CommandContext(t.Context(), millrace, "run", "grep", "--master", c.Addr, "--pattern", "word", "--input", key, "--output", filepath.Join(t.TempDir(), "out"))
		cmd.Env = append(os.Environ(), "MILLRACE_USER="+as, "HOME=/nonexistent")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err == nil || as == "root" && !strings.Contains(string(out), "may not name") || as == "nobody" && !strings.Contains(string(out), "permission denied") {
			t.Errorf("as %s: %v\n%s", as, err, out)
		}
	}
}
