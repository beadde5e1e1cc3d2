package scheduler

import (
	"maps"
	"strings"
	"testing"
	"time"
)

var declared = []Param{
	{Name: "K", Type: IntParam, Default: "2", Min: 1, Max: 100},
	{Name: "share", Type: FloatParam, Default: "0.5", Min: 0, Max: 1},
	{Name: "on", Type: BoolParam, Default: "false"},
	{Name: "wait", Type: DurationParam, Default: "5s", Positive: true},
	{Name: "size", Type: BytesParam, Default: "100MiB"},
	{Name: "mode", Type: ChoiceParam, Default: "a", Choices: []string{"a", "b"}},
	{Name: "limits", Type: FloatsParam, Default: "", Positive: true},
	{Name: "weights", Type: TableParam, Default: "", Positive: true},
	{Name: "note", Type: StringParam, Default: "x=y"},
}

func TestParamsDefaultsAndValues(t *testing.T) {
	p, err := ParseParams("test", declared, map[string]string{"K": "4", "limits": "4000, 10000,36000", "weights": "a=1,b=2.5", "size": "1.5GB", "on": "true", "mode": "b"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Int("K") != 4 || p.Float("K") != 4 || p.Float("share") != 0.5 || !p.Bool("on") || p.Duration("wait") != 5*time.Second {
		t.Error("scalars differ")
	}
	if p.Bytes("size") != 1_500_000_000 || p.String("mode") != "b" || p.String("note") != "x=y" {
		t.Error("bytes and strings differ")
	}
	if l := p.Floats("limits"); len(l) != 3 || l[2] != 36000 {
		t.Errorf("limits %v", l)
	}
	if !maps.Equal(p.Table("weights"), map[string]float64{"a": 1, "b": 2.5}) {
		t.Errorf("weights %v", p.Table("weights"))
	}
}

func TestParamsRefuse(t *testing.T) {
	for given, want := range map[[2]string]string{
		{"q", "2"}:                `policy test has no parameter "q"; it has: K, share, on`,
		{"K", "0"}:                "must be 1..100",
		{"K", "two"}:              "not a int",
		{"share", "1.1"}:          "must be 0..1",
		{"share", "NaN"}:          "not a float",
		{"on", "maybe"}:           "true or false",
		{"wait", "0s"}:            "must be > 0",
		{"wait", "5"}:             "not a duration",
		{"size", "many"}:          "not a bytes",
		{"mode", "c"}:             "one of a|b",
		{"limits", "1,-2"}:        "must be > 0",
		{"limits", "1,,2"}:        "is not a number",
		{"weights", "a"}:          "is not name=number",
		{"weights", "a=1,a=2"}:    "given twice",
		{"weights", "a=1,b=zero"}: "is not name=number",
	} {
		_, err := ParseParams("test", declared, map[string]string{given[0]: given[1]})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=%s: error %v, want %q", given[0], given[1], err, want)
		}
	}
}

func TestParamsReadWrongly(t *testing.T) {
	p, err := ParseParams("test", declared, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(){
		"undeclared": func() { p.Int("J") },
		"wrong type": func() { p.Int("share") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			read()
		}()
	}
}

func TestParamNamesInAnyCase(t *testing.T) {
	declared := []Param{{Name: "k", Type: IntParam, Default: "1"}}
	p, err := ParseParams("x", declared, map[string]string{"K": "7"})
	if err != nil || p.Int("k") != 7 {
		t.Errorf("K=7 gave %v, %v", p, err)
	}
	if _, err := ParseParams("x", declared, map[string]string{"K": "7", "k": "8"}); err == nil {
		t.Error("k was accepted twice")
	}
}

func TestLiveParams(t *testing.T) {
	i := &Info{Live: map[string]string{"by": "time", "wait": "1s"}, LiveUnless: []string{"skips"}}
	tests := []struct{ given, want map[string]string }{
		{nil, i.Live},
		{map[string]string{"key": "job"}, map[string]string{"key": "job", "by": "time", "wait": "1s"}},
		{map[string]string{"Wait": "2s"}, map[string]string{"Wait": "2s", "by": "time"}},
		{map[string]string{"Skips": "7"}, map[string]string{"Skips": "7"}},
	}
	for _, tt := range tests {
		if got := i.LiveParams(tt.given); !maps.Equal(got, tt.want) {
			t.Errorf("%v on a cluster: %v, want %v", tt.given, got, tt.want)
		}
	}
	if got := (&Info{}).LiveParams(nil); got != nil {
		t.Errorf("a policy without defaults of its own for clusters got %v", got)
	}
}
