package mapreduce

import (
	"fmt"
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
