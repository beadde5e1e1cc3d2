package main

import (
	"strings"
	"testing"
)

const sample = `package p

const two = 1 + 1

func f(a, b int) (int, error) {
	n := 0
	for i := 0; i < a; i++ {
		n += i
	}
	if err := g(); err != nil && a > b {
		return 0, err
	}
	g()
	m.cfg.Log.Info("n", "is", n)
	return n - b, nil
}
`

func TestChanges(t *testing.T) {
	all, err := changesOf("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // what is changed, and a line of the result
		"negate i < a":                     "for i := 0; !(i < a); i++ {",
		"<= for < in i < a":                "for i := 0; i <= a; i++ {",
		"drop n += i":                      "\t\t\n\t}",
		"negate err != nil && a > b":       "if err := g(); !(err != nil && a > b) {",
		"|| for && in err != nil && a > b": "if err := g(); err != nil || a > b {",
		">= for > in a > b":                "err != nil && a >= b {",
		"nil for err in return 0, err":     "return 0, nil\n",
		"drop g()":                         "\t}\n\t\n\tm.cfg.Log",
		"+ for - in n - b":                 "return n + b, nil",
	}
	for _, c := range all {
		line, ok := want[c.what]
		if !ok {
			t.Errorf("line %d: %s should not be changed", c.line, c.what)
			continue
		}
		delete(want, c.what)
		if got := string(c.apply([]byte(sample))); !strings.Contains(got, line) {
			t.Errorf("%s gives\n%s", c.what, got)
		}
	}
	for what := range want {
		t.Error("not found:", what)
	}
	if _, err := changesOf("p.go", []byte("package")); err == nil {
		t.Error("half a file was parsed")
	}
}
