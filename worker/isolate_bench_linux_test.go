package worker

import (
	"os"
	"os/exec"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// BenchmarkSandbox is what a process costs with and without isolation: room made, program run, room cleared.
func BenchmarkSandbox(b *testing.B) {
	for _, mode := range []string{IsolationNone, IsolationUser} {
		b.Run("isolation="+mode, func(b *testing.B) {
			require.Root(b)
			cfg := DefaultConfig()
			cfg.Dir, cfg.Isolation = b.TempDir(), mode
			j, err := newJail(&cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer j.close()
			for b.Loop() {
				runTrue(b, j)
			}
		})
	}
}

func runTrue(b *testing.B, j *jail) {
	b.Helper()
	c, err := j.enter(b.TempDir(), "sandbox-bench", limits{memory: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	exe, err := os.Open("/bin/true")
	if err != nil {
		b.Fatal(err)
	}
	defer exe.Close()
	cmd := exec.Command("/bin/true")
	cmd.Env = c.environment()
	if err := c.start(cmd, exe, os.Stderr); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	if err := c.leave(); err != nil {
		b.Fatal(err)
	}
}
