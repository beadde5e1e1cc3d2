package cli

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/client"
)

// TestUpHonoursItsConfiguration: what the file or a variable says is left to it; flags go before; the rest are this
// command's defaults.
func TestUpHonoursItsConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("master:\n  policy: fifo\n  admission: unlimited\nworker:\n  containers: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		config           string
		given            []string
		masters, workers []string
	}{
		{"", nil, []string{"--policy", "fair", "--admission", "marp"}, []string{"--containers", "3", "--memory", "1GiB"}},
		{file, nil, nil, []string{"--memory", "1GiB"}},
		{file, []string{"policy", "containers"}, []string{"--policy", "fair"}, []string{"--containers", "3", "--memory", "1GiB"}},
	} {
		o := &upOptions{
			policy: "fair", admission: "marp", containers: 3, memory: 1 << 30, config: tt.config,
			given: func(flag string) bool { return slices.Contains(tt.given, flag) },
		}
		masters, workers, err := o.settings()
		if err != nil || !slices.Equal(masters, tt.masters) || !slices.Equal(workers, tt.workers) {
			t.Errorf("%q, given %v: masters get %q, workers %q, %v; want %q and %q", tt.config, tt.given, masters, workers, err, tt.masters, tt.workers)
		}
	}
}

// TestUpIsReadyAtOnce: the cluster of the README is ready in a fraction of a second; of several starts the fastest counts, since the machine may
// have other work.
func TestUpIsReadyAtOnce(t *testing.T) {
	best := math.Inf(1)
	for try := 0; try < 5 && best >= 1; try++ {
		dir := t.TempDir()
		out, err := exec.Command("millrace", "cluster", "up", "--workers", "4", "--racks", "2", "--dir", dir).CombinedOutput()
		clusterKill(t, dir)
		_, after, _ := strings.Cut(string(out), "is ready after ")
		var seconds float64
		if _, serr := fmt.Sscanf(after, "%f s;", &seconds); err != nil || serr != nil {
			t.Fatalf("%v, %v:\n%s", err, serr, out)
		}
		best = min(best, seconds)
	}
	if best >= 1 {
		t.Errorf("the cluster was ready after %.1f s", best)
	}
}

// TestWorkersSayHowProgramsRun: a worker that does not keep the programs of users apart says so when it starts; one that does keeps silent.
func TestWorkersSayHowProgramsRun(t *testing.T) {
	const bare = "programs of users run as the worker's user"
	for isolation, says := range map[string]bool{"none": true, "user": false} {
		if isolation == "user" && os.Getuid() != 0 {
			continue
		}
		dir := t.TempDir()
		cmd := exec.Command("millrace", "cluster", "up", "--workers", "1", "--dir", dir)
		cmd.Env = append(os.Environ(), "MILLRACE_WORKER_ISOLATION="+isolation)
		out, err := cmd.CombinedOutput()
		clusterKill(t, dir)
		log, lerr := os.ReadFile(filepath.Join(dir, "logs", "w1.log"))
		if err != nil || lerr != nil || strings.Contains(string(log), bare) != says {
			t.Errorf("isolation %s: %v, %v; says %q: want %v\n%s%s", isolation, err, lerr, bare, says, out, log)
		}
	}
}

// TestUpBringsBack: a directory remembers the shape of its cluster; flags of the next start go before it, and workers whose
// blocks are missing are named.
func TestUpBringsBack(t *testing.T) {
	dir := t.TempDir()
	t.Cleanup(func() { clusterKill(t, dir) })
	call := func(ok bool, says string, words ...string) {
		t.Helper()
		out, err := exec.Command("millrace", words...).CombinedOutput()
		if (err == nil) != ok || !strings.Contains(string(out), says) {
			t.Fatalf("%v: %v, want %q in\n%s", words, err, says, out)
		}
	}
	up, down := []string{"cluster", "up", "--timeout", "2m", "--dir", dir}, []string{"cluster", "down", "--dir", dir}
	call(true, "", append(up, "--workers", "2", "--racks", "2", "--containers", "2", "--policy", "capacity", "--param", "queues=a=70,b=30")...)
	call(true, "", down...)
	call(true, "as before: --containers 2, --param queues=a=70,b=30, --policy capacity, --racks 2, --workers 2\n", up...)
	if got, want := machinesOf(t, dir), "r1/w1//2 r2/w2//2"; got != want {
		t.Errorf("the cluster is %s, want %s", got, want)
	}
	c, err := readCluster(dir)
	if err != nil {
		t.Fatal(err)
	}
	call(true, "capacity", "scheduler", "get", "--master", c.Master)
	call(true, "note: there is no queue nosuch: its jobs run in queue a\n", "run", "sleep", "--maps", "1", "--map-time", "1ms", "--reduce-time", "1ms", "--queue", "nosuch", "--output", "dfs:/o", "--master", c.Master)
	batch := filepath.Join(t.TempDir(), "batch.yaml")
	if err := os.WriteFile(batch, []byte("jobs: [{name: one, run: sleep, output: \"dfs:/o2\", args: [--maps, 1, --map-time, 1ms, --reduce-time, 1ms, --queue, other]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call(true, "note: there is no queue other: its jobs run in queue a\n", "job", "submit", "--batch", batch, "--master", c.Master)
	for i := range 8 { // all on w1: 1 of 256 runs
		call(true, "", "dfs", "put", "--replication", "1", "cluster_test.go", fmt.Sprint("dfs:/in", i), "--master", c.Master)
	}
	call(true, "", down...)
	call(false, "w2 had blocks here", "cluster", "up", "--dir", dir, "--workers", "1", "--timeout", "5s")
	call(true, "no longer, by your flags: --param queues=a=70,b=30, --policy capacity\n", append(up, "--policy", "fifo")...)
}

// machinesOf are the workers of a cluster that runs, with rack, class and containers.
func machinesOf(t *testing.T, dir string) string {
	t.Helper()
	c, err := readCluster(dir)
	if err != nil {
		t.Fatal(err)
	}
	cl, err := client.New(client.Config{Master: c.Master})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	nodes, err := cl.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, n := range nodes {
		out = append(out, fmt.Sprintf("%s/%s/%s/%d", n.Rack, n.Node, n.Machine, n.Capacity.Containers))
	}
	return strings.Join(out, " ")
}

// TestUpRecallsADescription: the text of --file is kept, so that the file may go; what cannot go with it is refused, and a new
// file replaces it.
func TestUpRecallsADescription(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(file, []byte(twoClasses), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ words, policy, says, refused string }{
		{"--file " + file + " --admission unlimited --port 7000", "hybrid", "", ""},
		{"", "hybrid", "as before: the machines of its --file, --admission unlimited, --port 7000\n", ""},
		{"--policy fifo --port 0", "fifo", "no longer, by your flags: --port 7000\n", ""},
		{"", "fifo", "as before: the machines of its --file, --admission unlimited, --policy fifo, --port 0\n", ""},
		{"--workers 9", "", "", "--workers cannot go with the description of machines that"},
		{"--file " + file, "hybrid", "no longer, by your flags: --admission unlimited, --policy fifo\n", ""},
	} {
		var said strings.Builder
		var o upOptions
		flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
		o.define(flags)
		err := flags.Parse(append(strings.Fields(tt.words), "--dir", dir))
		for _, step := range []func() error{func() error { return o.recall(&said, flags) }, o.describe, func() error { return o.remember(flags) }} {
			if err == nil {
				err = step()
			}
		}
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%q: %v, want %q", tt.words, err, tt.refused)
			}
			continue
		}
		if err != nil || o.described == nil || o.workers != 4 || o.described.Policy != tt.policy || !strings.Contains(said.String(), tt.says) {
			t.Errorf("%q: %d workers, %+v, %v; says %q, want %q", tt.words, o.workers, o.described, err, said.String(), tt.says)
		}
	}
}
