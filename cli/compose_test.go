package cli

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// TestComposeVariables: the commands of the containers are ones that the daemons take, as they stand and with the variables that
// the head of the file lists, which reach the flags they are for.
func TestComposeVariables(t *testing.T) {
	file, err := os.ReadFile("../deploy/docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\$\{([A-Z0-9_]+):-([^}]*)\}`)
	for name, c := range map[string]struct {
		set  map[string]string
		want map[string][]string // of a service: flag and value, in turn
	}{
		"as it stands": {nil, map[string][]string{
			"master": {"policy", "fair", "placement", "rack-aware"}, "w1": {"class", "", "speed", "0", "rack", "r1"}, "w4": {"class", "", "speed", "0", "rack", "r2"}, "worker": {"class", ""},
		}},
		"two classes": {
			map[string]string{"MILLRACE_POLICY": "hybrid", "MILLRACE_PLACEMENT": "two-plus-one", "MILLRACE_R1_CLASS": "scale-up", "MILLRACE_R2_SPEED": "0.5"},
			map[string][]string{
				"master": {"policy", "hybrid", "placement", "two-plus-one"}, "w2": {"class", "scale-up", "speed", "0"}, "w3": {"class", "", "speed", "0.5"}, "worker": {"class", "scale-up"},
			},
		},
	} {
		var doc struct {
			Services map[string]struct{ Command []string }
		}
		given := variable.ReplaceAllFunc(file, func(b []byte) []byte {
			m := variable.FindSubmatch(b)
			if v, ok := c.set[string(m[1])]; ok {
				return []byte(v)
			}
			return m[2]
		})
		if err := yaml.UnmarshalWithOptions(given, &doc, yaml.AllowDuplicateMapKey()); err != nil {
			t.Fatal(err)
		}
		for service, want := range c.want {
			words := doc.Services[service].Command
			cmd := map[string]func() *cobra.Command{"master": newMaster, "worker": newWorker}[words[0]]()
			if err := cmd.ParseFlags(words[1:]); err != nil {
				t.Errorf("%s, %s: %v", name, service, err)
			}
			for pair := range slices.Chunk(want, 2) {
				if f := cmd.Flags().Lookup(pair[0]); f.Value.String() != pair[1] {
					t.Errorf("%s: --%s of %s is %q, want %q", name, pair[0], service, f.Value, pair[1])
				}
			}
		}
	}
}
