package cli

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Every key of a scenario file has a help text, and docs/play.md lists them as millrace sim explain does.
func TestScenarioKeysAreDocumented(t *testing.T) {
	for _, k := range scenarioKeys(reflect.TypeFor[simFile](), "") {
		if k.help == "" || strings.HasSuffix(k.name, ".") {
			t.Errorf("%q has no help text", k.name)
		}
	}
	page, err := os.ReadFile("../docs/play.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), keysTable()) {
		t.Errorf("docs/play.md lacks this table:\n%s", keysTable())
	}
}

// keysTable is the table of docs/play.md.
func keysTable() string {
	var b strings.Builder
	b.WriteString("| key | | |\n|---|---|---|\n")
	for _, k := range scenarioKeys(reflect.TypeFor[simFile](), "") {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", k.name, k.kind, k.help)
	}
	return b.String()
}
