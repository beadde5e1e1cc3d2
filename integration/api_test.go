package integration

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testcluster"
)

// TestAPIDocs: docs/api.md has every method that people may call, says who may, and no other.
func TestAPIDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z.-]+)` \\| (\\w+) \\|").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	words := map[rpc.Rule]string{rpc.Anyone: "anyone", rpc.Users: "users", rpc.Admins: "admins", rpc.Files: "files"}
	there := map[string]string{}
	for _, r := range testcluster.Start(t, testcluster.Config{}).Master.Routes() {
		if name, ok := strings.CutPrefix(r.Path, rpc.Prefix); ok && words[r.Rule] != "" {
			there[name] = words[r.Rule]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if documented[name] != there[name] {
			t.Errorf("%s is for %s, docs/api.md says %q", name, there[name], documented[name])
		}
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("docs/api.md has what is not there: %v", documented)
	}
}
