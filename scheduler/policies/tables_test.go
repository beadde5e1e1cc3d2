package policies

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/scheduler"
)

// tables finds what is generated on a page: a line that names the policy, and the table behind it.
var tables = regexp.MustCompile(`(<!-- parameters of ([a-z-]+) -->\n)(?:\|[^\n]*\n)*`)

// TestParameterTables holds docs/policies to the parameters as the code has them: every policy with parameters has its table,
// on a page of its own or under a heading of another. Run it with -rewrite to make them anew.
func TestParameterTables(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/policies/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages:", err)
	}
	missing := map[string]bool{}
	for name, i := range All {
		missing[name] = len(i.Params()) > 0
	}
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want := tables.ReplaceAllStringFunc(string(b), func(found string) string {
			part := tables.FindStringSubmatch(found)
			i := All[part[2]]
			if i == nil {
				t.Errorf("%s has a table of %q, which is no policy", page, part[2])
				return found
			}
			missing[i.Name] = false
			return part[1] + table(i)
		})
		if want == string(b) {
			continue
		}
		if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" { // the flag of the stories
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s differs from the code: go test ./scheduler/policies -run TestParameterTables -rewrite", page)
	}
	for name, is := range missing {
		if is && !variants[name] {
			t.Errorf("no page has the table of %s: write <!-- parameters of %s --> where it goes", name, name)
		}
	}
}

// variants stand on the page of the policy whose parameters they have.
var variants = map[string]bool{
	"nas-mts": true, "nas-mts-ca": true, "nas-no-tt": true, "nas-no-mct": true, "nas-no-both": true,
	"sw-delay": true, "deadline-max": true, "jobpacker-adhoc-agg": true,
}

// table is what a page has of a policy.
func table(i *scheduler.Info) string {
	live := i.LiveParams(nil)
	out := &strings.Builder{}
	out.WriteString("| parameter | default | on a cluster | values | meaning | source |\n|---|---|---|---|---|---|\n")
	for _, p := range i.Params() {
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s | %s |\n", p.Name, cell(p.Default), cell(live[p.Name]), cell(p.Range()), cell(p.Doc), cell(p.Source))
	}
	return out.String()
}

func cell(s string) string { return strings.NewReplacer("|", ", ", "*", `\*`).Replace(s) }
