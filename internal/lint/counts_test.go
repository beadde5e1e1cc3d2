package lint

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReadmeCounts: the numbers of lines that README gives are true within a twentieth.
func TestReadmeCounts(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	product, tests := map[string]int{}, 0
	for _, f := range load(t) {
		n := fset.File(f.ast.Pos()).LineCount() - 1
		if f.test {
			tests += n
			continue
		}
		product[""] += n
		top, _, _ := strings.Cut(f.path, "/")
		product[top] += n
	}
	engine := product["mapreduce"] + product["task"] + product["local"] + product["shuffle"] + product["storage"]
	for phrase, lines := range map[string]int{
		"on one machine is some N lines": engine, "millrace is some N lines": product[""], "N more of tests": tests,
		"`mapreduce`\n(N:": product["mapreduce"], "`task` (N:": product["task"], "`local` (N:": product["local"], "`shuffle` (N:": product["shuffle"], "`storage` (N:": product["storage"],
		"policies (N)": product["scheduler"], "(`internal`, N)": product["internal"], "command line (N)": product["cli"], "block store (N)": product["dfs"],
		"laboratory (N)": product["lab"], "master (N)": product["master"], "workers (N)": product["worker"], "simulator (N)": product["sim"],
	} {
		find := regexp.MustCompile(strings.Replace(regexp.QuoteMeta(phrase), "N", `([0-9,]+)`, 1))
		found := find.FindSubmatch(readme)
		if found == nil {
			t.Errorf("README.md does not say %q", phrase)
			continue
		}
		said, err := strconv.Atoi(strings.ReplaceAll(string(found[1]), ",", ""))
		if err != nil || math.Abs(float64(said-lines)) > float64(lines)/20 {
			t.Errorf("README.md says %q of %d lines (%v)", strings.Replace(phrase, "N", string(found[1]), 1), lines, err)
		}
	}
}
