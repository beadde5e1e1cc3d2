package scheduler

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
)

// everything has one field of each kind of parameter.
type everything struct {
	k, also int
	share   float64
	on      bool
	wait    time.Duration
	size    int64
	mode    string
	side    bool
	limits  []float64
	weights map[string]float64
	note    string
}

func defaults() everything {
	return everything{k: 2, share: 0.5, wait: 5 * time.Second, size: 100 << 20, mode: "a", note: "x=y", weights: map[string]float64{"b": 2, "a": 0.5}}
}

func (e *everything) params() []Param {
	return []Param{
		Int(&e.k, "K", "ours", "number").In(1, 100).Also(func() { e.also = e.k }),
		Float(&e.share, "share", "ours", "part").In(0, 1),
		Bool(&e.on, "on", "ours", "switch"),
		Duration(&e.wait, "wait", "ours", "length").Above0(1e6),
		ByteCount(&e.size, "size", "ours", "bytes"),
		Choice(&e.mode, []string{"a", "b"}, "mode", "ours", "one of two"),
		Either(&e.side, [2]string{"left", "right"}, "side", "ours", "a truth with names"),
		Floats(&e.limits, "limits", "ours", "several").Above0(0),
		Table(&e.weights, "weights", "ours", "by name").Above0(0),
		Text(&e.note, "note", "ours", "anything"),
	}
}

func TestParamsAreBound(t *testing.T) {
	e := defaults()
	params := e.params()
	for i, want := range []string{"2", "0.5", "false", "5s", "100MiB", "a", "left", "", "a=0.5,b=2", "x=y"} {
		if params[i].Default != want {
			t.Errorf("%s: default %q, want %q", params[i].Name, params[i].Default, want)
		}
	}
	if err := SetParams("test", params, nil); err != nil || !reflect.DeepEqual(e, defaults()) {
		t.Errorf("nothing was given and changed %+v: %v", e, err)
	}
	given := map[string]string{"K": "4", "limits": "4000, 10000,36000", "weights": "a=1,b=2.5", "size": "1.5GB", "on": "true", "mode": "b", "side": "right", "wait": "2m", "share": "1", "note": ""}
	want := everything{4, 4, 1, true, 2 * time.Minute, 1_500_000_000, "b", true, []float64{4000, 10000, 36000}, map[string]float64{"a": 1, "b": 2.5}, ""}
	if err := SetParams("test", params, given); err != nil || !reflect.DeepEqual(e, want) {
		t.Errorf("got %+v, want %+v: %v", e, want, err)
	}
}

// TestDefaultsAreRead: what a default says is what the field held.
func TestDefaultsAreRead(t *testing.T) {
	e := defaults()
	params := e.params()
	all := map[string]string{}
	for _, p := range params {
		all[p.Name] = p.Default
	}
	again := everything{}
	if err := SetParams("test", again.params(), all); err != nil {
		t.Fatal(err)
	}
	if again.also = 0; !reflect.DeepEqual(again, e) {
		t.Errorf("%+v is read as %+v", e, again)
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
		{"side", "true"}:          "one of left|right",
		{"limits", "1,-2"}:        "must be > 0",
		{"limits", "1,,2"}:        "is not a number",
		{"weights", "a"}:          "is not name=number",
		{"weights", "a=1,a=2"}:    "given twice",
		{"weights", "a=1,b=zero"}: "is not name=number",
	} {
		e := defaults()
		err := SetParams("test", e.params(), map[string]string{given[0]: given[1]})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=%s: error %v, want %q", given[0], given[1], err, want)
		}
	}
}

func TestParamNamesInAnyCase(t *testing.T) {
	e := defaults()
	if err := SetParams("x", e.params(), map[string]string{"k": "7", "SHARE": "1"}); err != nil || e.k != 7 || e.share != 1 {
		t.Errorf("k=7 gave %d, %v", e.k, err)
	}
	if err := SetParams("x", e.params(), map[string]string{"K": "7", "k": "8"}); err == nil {
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
