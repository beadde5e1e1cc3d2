package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millrace/millrace/internal/procs"
)

// TestDFSScripts runs testdata/dfs: each script has a cluster of its own, of processes, whose
// master the environment names. Its directory is outside what the script sees.
func TestDFSScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/dfs",
		Setup: func(env *testscript.Env) error {
			dir := t.TempDir()
			env.Defer(func() { clusterKill(t, dir) })
			env.Setenv("MILLRACE_MASTER", clusterUp(t, dir))
			env.Setenv("MILLRACE_USER", "ann")
			env.Setenv("TZ", "UTC")
			env.Setenv("CLUSTER", dir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "json": jsonKeys, "clean": clean, "fits": fits,
		},
	})
}

// clusterUp starts a cluster of processes and returns its master.
func clusterUp(t *testing.T, dir string) string {
	cmd := exec.Command("millrace", "cluster", "up", "--workers", "3", "--racks", "2", "--dir", dir)
	cmd.Env = append(os.Environ(), "MILLRACE_MASTER_SUPERUSER=ann", "MILLRACE_MASTER_GROUPS="+groupsFile(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cluster up: %v\n%s", err, out)
	}
	c, err := readCluster(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c.Master
}

// groupsFile has bob and cat in the group pals.
func groupsFile(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "groups")
	if err := os.WriteFile(name, []byte("pals:x:100:bob,cat\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// clusterKill ends all processes of a cluster at once, as a power cut does.
func clusterKill(t *testing.T, dir string) {
	c, err := readCluster(dir)
	if err != nil {
		return // it is not up
	}
	pids := []int{c.PID}
	for _, w := range c.Workers {
		pids = append(pids, w.PID)
	}
	for _, pid := range pids {
		if err := procs.Kill(pid); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		waitDead(t, pid)
	}
	if err := os.Remove(clusterPath(dir)); err != nil {
		t.Error(err)
	}
}

// waitDead waits until a process is gone, or only waits to be buried by its parent.
func waitDead(t *testing.T, pid int) {
	for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d does not die", pid)
}

// oddNames are names that have hurt other systems, and more of their kind.
func oddNames() []string {
	list := []string{
		"..", ".", "a/../../b", "/etc/passwd", "../../etc/passwd", "new\nline", "tab\tbed", "bell\a", "\x1b[31mred", "\xff\xfe", "ok\x80",
		"-rf", "--help", "*", "?", "[a-z]", "[", `back\slash`, "spa ce", " lead", "trail ", "~", "$HOME", "`id`", "$(id)", ";id", "|id", "&", "'", `"`,
		"<script>", "%s%n", "%2e%2e", "日本語", "é", "e\u0301", "\u202egnp", "😀", "...", ".hidden", "_SUCCESS", "a:b", "dfs:", "file:", "CON", "nul", ":",
		"#", "x#y?z=1", "x%00y", "\u2028", "\ufeff", "a//b", "//", "x.part", "con\u0000", strings.Repeat("n", 255), strings.Repeat("n", 256),
		strings.Repeat("d/", 200) + "deep", strings.Repeat("long/", 900), strings.Repeat("é", 127), strings.Repeat("é", 128),
	}
	return list
}

// manyNames are the rest of two hundred: every control character and many others.
func manyNames(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("/many/%d%cx%c", i, rune(1+i), rune(0x20+i*37%0x7ff)))
	}
	return list
}

// TestOddNamesThroughTheCommandLine is FAULTS row 72: 200 names are refused, or come back exactly,
// through a power cut, and nothing appears outside the cluster's directory.
func TestOddNamesThroughTheCommandLine(t *testing.T) {
	base := t.TempDir()
	dir, here := filepath.Join(base, "cluster"), filepath.Join(base, "here")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	master := clusterUp(t, dir)
	defer clusterKill(t, dir)
	dfs := func(stdin string, args ...string) (string, error) {
		cmd := exec.Command("millrace", append([]string{"dfs", "--master", master, "--as", "ann"}, args...)...)
		cmd.Dir, cmd.Stdin = here, strings.NewReader(stdin)
		out, err := cmd.Output()
		return string(out), err
	}
	kept := putOdd(dfs)
	if len(kept) < 30 || kept["/odd/.."] != "" || kept["/odd/new\nline"] != "" || kept["/odd/*"] == "" {
		t.Errorf("%d names were taken: %q", len(kept), kept)
	}
	many := manyNames(200 - len(oddNames()))
	_, err := dfs("", append([]string{"mkdir", "-p", "--"}, many...)...)
	if err == nil {
		t.Error("control characters were taken")
	}
	clusterKill(t, dir)
	master = clusterUp(t, dir)
	wantTree(t, dfs, kept, many)
	nothingOutside(t, base, here)
	foundNamesStayOnTheirLine(t, dfs)
}

// foundNamesStayOnTheirLine puts a directory with a name that the store refuses: the message has it as part of one line.
func foundNamesStayOnTheirLine(t *testing.T, dfs runDFS) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in\nFAKE line"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := dfs("", "put", "-r", "--progress", "none", dir, "/found")
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !strings.Contains(string(exit.Stderr), `in\nFAKE line: `) || strings.Contains(string(exit.Stderr), "\nFAKE") {
		t.Errorf("put -r says %v: %q", err, exit.Stderr)
	}
}

type runDFS func(stdin string, args ...string) (string, error)

// putOdd puts a file under each odd name and returns what was taken.
func putOdd(dfs runDFS) map[string]string {
	kept := map[string]string{}
	for i, name := range oddNames() {
		path := "/odd/" + name
		text := fmt.Sprintf("content %d\n", i)
		// No command line can carry a NUL; package dfs/names tries it.
		if _, err := dfs(text, "put", "--progress", "none", "--", "-", path); err == nil {
			kept[strings.TrimRight(path, "/")] = text
		}
	}
	return kept
}

// wantTree compares all there is with what was taken.
func wantTree(t *testing.T, dfs runDFS, kept map[string]string, many []string) {
	t.Helper()
	out, err := dfs("", "ls", "-R", "--json", "/")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Path string
		Dir  bool
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]bool{}
	for _, e := range list {
		if dirs[e.Path] = e.Dir; e.Dir {
			continue
		}
		want, ok := kept[e.Path]
		if got, err := dfs("", "cat", "--", e.Path); !ok || err != nil || got != want {
			t.Errorf("%q holds %q, want %q, %v", e.Path, got, want, err)
		}
		delete(kept, e.Path)
	}
	if len(kept) > 0 {
		t.Errorf("gone after a restart: %q", kept)
	}
	for _, p := range many {
		if good := strings.IndexFunc(p, unicode.IsControl) < 0; dirs[p] != good {
			t.Errorf("%q: there: %v, want %v", p, dirs[p], good)
		}
	}
}

// nothingOutside looks for what should not be: files beside the cluster's own.
func nothingOutside(t *testing.T, base, here string) {
	t.Helper()
	for dir, want := range map[string]string{base: "cluster here", here: ""} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for i, e := range entries {
			if i > 0 {
				got.WriteByte(' ')
			}
			got.WriteString(e.Name())
		}
		if got.String() != want {
			t.Errorf("%s has %q, want %q", dir, got.String(), want)
		}
	}
}
