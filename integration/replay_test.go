package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/master"
)

// TestTraceReplay: the jobs of a trace come to a cluster at their times, scaled; they hold containers and shuffle what the
// trace says, scaled; nothing is left of them in the store. A trace that cannot fit is refused with its job and what would do.
func TestTraceReplay(t *testing.T) {
	require.Tool(t, "go")
	t.Parallel()
	var log decisions
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) {
		m.Policy, m.Admission, m.Jobs.Decisions = "fair", "unlimited", log.add
	}})
	var swim strings.Builder
	for i, shuffle := range []int64{0, 40 << 20, 400 << 20} { // submitted 100 s apart
		fmt.Fprintf(&swim, "job%d\t%d\t%d\t%d\t%d\t%d\n", i, 100*i, 100, 1<<30, shuffle, 1<<20)
	}
	file := filepath.Join(t.TempDir(), "t.tsv")
	if err := os.WriteFile(file, []byte(swim.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	replay := func(args ...string) (string, error) {
		out, err := exec.Command(millrace, append([]string{"trace", "replay", file, "--master", c.Addr}, args...)...).CombinedOutput()
		return string(out), err
	}
	out, err := replay("--scale-time", "0.01", "--scale-bytes", "0.1", "--json")
	var got struct {
		Jobs, Tasks, Failed int
		Seconds             float64
		Master              float64 `json:"master_ms_per_task"`
		Workers             float64 `json:"workers_ms_per_task"`
	}
	said, report, _ := strings.Cut(out, "{") // what it will cost is said before, on standard error
	if err != nil || !strings.Contains(said, "their maps will make 44.0 MiB") || json.Unmarshal([]byte("{"+report), &got) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got.Jobs != 3 || got.Tasks != 5 || got.Failed != 0 || got.Seconds < 2 || got.Master <= 0 || got.Workers <= 0 {
		t.Errorf("%s", out)
	}
	for i, mib := range []int64{0, 4, 40} {
		seen := log.seen(fmt.Sprint("job", i))
		if len(seen) == 0 || seen[0].Shuffle.Bytes>>20 != mib || seen[0].Input.Bytes>>20 != 102 {
			t.Errorf("job %d: the policies were told of %+v", i, seen)
		}
	}
	if list, err := c.DFS.ListAll(t.Context(), "/tmp"); err == nil {
		for _, f := range list {
			if strings.Contains(f.Path, "replay") {
				t.Errorf("left behind: %s", f.Path)
			}
		}
	}
	if err := os.WriteFile(file, []byte("small\t0\t0\t1\t1\t1\nlarge\t1\t1\t1\t1125899906842624\t1\n"), 0o600); err != nil { // a PiB
		t.Fatal(err)
	}
	if out, err := replay("--scale-time", "1e-6"); err == nil || !strings.Contains(out, "job 2 of the trace, large, shuffles 1.00 PiB") || !strings.Contains(out, "--scale-bytes") {
		t.Errorf("a trace that cannot fit: %v\n%s", err, out)
	}
}
