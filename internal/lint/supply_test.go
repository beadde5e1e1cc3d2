package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	required = regexp.MustCompile(`(?m)^\t?(?:require )?([a-z0-9.-]+\.[a-z]+/\S+) (v\S+)`)
	major    = regexp.MustCompile(`/v[0-9]+$`)
)

// TestThirdParty: every module that go.mod names has a licence in THIRD_PARTY.md, by its path or, behind others of the same
// owner, by its last name, and stands there with its version; and no other does.
func TestThirdParty(t *testing.T) {
	mod, err1 := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	text, err2 := os.ReadFile(filepath.Join("..", "..", "THIRD_PARTY.md"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	found := required.FindAllStringSubmatch(string(mod), -1)
	if len(found) < 20 {
		t.Fatalf("only %d modules found: is go.mod read right?", len(found))
	}
	licences, _, _ := strings.Cut(string(text), "\n## Versions\n")
	for _, m := range found {
		if !listed(licences, m[1]) {
			t.Errorf("THIRD_PARTY.md does not name %s, which go.mod requires: add it with its licence", m[1])
		}
		if line := fmt.Sprintf("\n| %s | %s |\n", m[1], m[2]); !strings.Contains(string(text), line) {
			t.Errorf("the versions of THIRD_PARTY.md lack%s", line)
		}
	}
	if n := len(regexp.MustCompile(`(?m)^\| \S+ \| v[0-9]\S* \|$`).FindAllString(string(text), -1)); n != len(found) {
		t.Errorf("THIRD_PARTY.md has the versions of %d modules, go.mod of %d", n, len(found))
	}
}

// listed reports whether a line with licences names a module.
func listed(licences, module string) bool {
	module = major.ReplaceAllString(module, "")
	last := regexp.MustCompile(`[ ,]` + regexp.QuoteMeta(path.Base(module)) + `[ ,/]`)
	for line := range strings.Lines(licences) {
		if strings.Contains(line, module) || strings.Contains(line, path.Dir(module)+"/") && last.MatchString(line) {
			return true
		}
	}
	return false
}

// TestKeyIsForNobodyElse: nothing that starts a cluster makes its key readable by others.
func TestKeyIsForNobodyElse(t *testing.T) {
	wide := regexp.MustCompile(`chmod +(?:0?[0-7](?:[1-7][0-7]|0[1-7])|[ago]*\+[rwx]+) +\S*key`)
	for _, name := range []string{"Makefile", "deploy/docker-compose.yml", "deploy/Dockerfile", ".ci/run"} {
		b, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if found := wide.FindString(string(b)); found != "" {
			t.Errorf("%s: %q", name, found)
		}
	}
	if !wide.MatchString("chmod 644 deploy/cluster.key") || wide.MatchString("chmod 600 deploy/cluster.key") {
		t.Error("the pattern does not bite")
	}
}
