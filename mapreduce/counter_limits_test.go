package mapreduce

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

func TestCounterNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"lines": true, "Ümläut": true, strings.Repeat("x", MaxCounterName): true,
		strings.Repeat("x", MaxCounterName+1): false, "two\nlines": false, "\xff": false, "\u202etxt.exe": false,
	} {
		var s CounterSet
		for _, k := range [][2]string{{"g", name}, {name, "n"}} {
			if _, err := s.try(k[0], k[1]); (err == nil) != ok {
				t.Errorf("%.40q: %v", k, err)
			}
			if err := (Counts{k[0]: {k[1]: 1}}).Check(); (err == nil) != ok {
				t.Errorf("Check %.40q: %v", k, err)
			}
		}
	}
}

func TestCountsCheck(t *testing.T) {
	c := Counts{"g": {}}
	for i := range MaxCounters {
		c["g"][fmt.Sprint(i)] = 1
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if err := c.CheckSum(Counts{"g": {"0": 1, "999": 1}}); err != nil {
		t.Error(err)
	}
	one := Counts{"h": {"0": 1}}
	if c.CheckSum(one) == nil || one.CheckSum(c) == nil {
		t.Error("one counter too many is accepted")
	}
	c["g"]["more"] = 1
	if c.Check() == nil {
		t.Error("one counter too many is accepted")
	}
}

// TestBuiltInsHaveRoom: a program that counts all that it may leaves the engine its counters, all of them.
func TestBuiltInsHaveRoom(t *testing.T) {
	var s CounterSet
	for i := range MaxCounters {
		s.Counter("g", fmt.Sprint(i)).Add(1)
	}
	for _, name := range builtIns {
		s.Counter(TaskGroup, name).Add(1)
	}
	if _, err := s.try(TaskGroup, "of_the_program"); err == nil || !strings.Contains(err.Error(), "of_the_program") {
		t.Errorf("one more in the engine's group: %v", err)
	}
	all := s.Snapshot()
	if err := all.Check(); err != nil {
		t.Error(err)
	}
	if err := all.CheckSum(Counts{TaskGroup: {Spills: 1}}); err != nil {
		t.Error(err)
	}
}

// TestBuiltInsAreListed: who adds a counter of the engine's adds it to the list, too.
func TestBuiltInsAreListed(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "counter.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(f, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST || len(d.Specs) < 10 {
			return true
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			name, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if found++; name != TaskGroup && !builtIn(TaskGroup, name) {
				t.Errorf("%s is not in builtIns", v.Names[0])
			}
		}
		return true
	})
	if found != len(builtIns)+1 {
		t.Errorf("%d constants, %d of them listed", found, len(builtIns))
	}
}
