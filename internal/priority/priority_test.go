package priority

import (
	"encoding/json"
	"testing"
)

func TestNamesRoundTrip(t *testing.T) {
	for p := VeryLow; p <= VeryHigh; p++ {
		back, err := Parse(p.String())
		if err != nil || back != p {
			t.Errorf("Parse(%q) = %v, %v", p.String(), back, err)
		}
		data, err := json.Marshal(struct{ P Priority }{p})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ P Priority }
		if err := json.Unmarshal(data, &got); err != nil || got.P != p {
			t.Errorf("%s becomes %v, %v", data, got.P, err)
		}
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]Priority{
		`null`: Normal, `0`: Normal, `""`: Normal, `"LOW"`: Low, `1`: VeryLow, `3`: Normal, `5`: VeryHigh, `"very-high"`: VeryHigh,
	} {
		got := High
		if err := json.Unmarshal([]byte(in), &got); in != `null` && (err != nil || got != want) {
			t.Errorf("%s is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{`6`, `-1`, `"urgent"`, `{}`, `[1]`, `1.5`} {
		var got Priority
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s is taken as %v", in, got)
		}
	}
	if _, err := json.Marshal(Priority(7)); err == nil {
		t.Error("a priority of 7 is written")
	}
}
