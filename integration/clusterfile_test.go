package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
)

// TestClusterOfAFile: cluster up starts the machines that a file describes, and its policies; a job runs on them.
func TestClusterOfAFile(t *testing.T) {
	require.Tool(t, "go")
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "cluster.yaml")
	const text = "racks: 2\nclasses:\n- {name: strong, count: 1, racks: [r1], containers: 4}\n- {name: weak, count: 2, racks: [r2], vcores: 2, container-memory: 2048, speed: 0.5}\n" +
		"policy: hybrid\nparams: {up-class: strong}\nadmission: unlimited\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(millrace, "cluster", "up", "--file", file, "--dir", dir, "--timeout", "2m").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer func() {
		if out, err := exec.Command(millrace, "cluster", "down", "--dir", dir).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	c := clusterAt(t, dir)
	cl, err := client.New(client.Config{Master: c.Master, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	nodes, err := cl.Nodes(t.Context())
	if err != nil || len(nodes) != 3 {
		t.Fatalf("%+v, %v", nodes, err)
	}
	for _, n := range nodes {
		class, rack, room := "weak", "r2", int32(2)
		if n.Node == "w1" {
			class, rack, room = "strong", "r1", 0
		}
		if n.Machine != class || n.Rack != rack || n.Capacity.VCores != room {
			t.Errorf("%+v: want class %s in %s", n, class, rack)
		}
	}
	for want, words := range map[string][]string{
		"hybrid by=time hold-reduces=true ripe-first=true up-class=strong": {"scheduler", "get"},
		"done in": {"run", "sleep", "--map-time", "10ms", "--reduce-time", "10ms", "--output", "dfs:/out"},
	} {
		if out, err := exec.Command(millrace, append(words, "--master", c.Master)...).CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, says nothing of %q\n%s", words, err, want, out)
		}
	}
}
