package scheduler

import "testing"

// Whatever is given for a parameter is refused, or is in its range.
func FuzzParseParams(f *testing.F) {
	declared := []Param{
		{Name: "k", Type: IntParam, Default: "2", Min: 1, Max: 64},
		{Name: "share", Type: FloatParam, Default: "0.5", Min: 0, Max: 1},
		{Name: "on", Type: BoolParam, Default: "true"},
		{Name: "wait", Type: DurationParam, Default: "5s", Min: 0, Max: 3600},
		{Name: "size", Type: BytesParam, Default: "1MB"},
		{Name: "by", Type: ChoiceParam, Default: "a", Choices: []string{"a", "b"}},
		{Name: "limits", Type: FloatsParam, Default: "1,2"},
		{Name: "weights", Type: TableParam, Default: ""},
	}
	f.Add("k", "3")
	f.Add("Share", "1e-9")
	f.Add("weights", "a=1,b=2.5")
	f.Add("limits", "1,,2")
	f.Fuzz(func(t *testing.T, name, text string) {
		p, err := ParseParams("fuzz", declared, map[string]string{name: text})
		if err != nil {
			return
		}
		if k := p.Int("k"); k < 1 || k > 64 {
			t.Errorf("k is %d", k)
		}
		if s := p.Float("share"); !(s >= 0 && s <= 1) {
			t.Errorf("share is %g", s)
		}
		if w := p.Duration("wait"); w < 0 || w.Seconds() > 3600 {
			t.Errorf("wait is %s", w)
		}
		if by := p.String("by"); by != "a" && by != "b" {
			t.Errorf("by is %q", by)
		}
	})
}
