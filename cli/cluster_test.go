package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
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
