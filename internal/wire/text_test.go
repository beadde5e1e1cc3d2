package wire

import (
	"maps"
	"testing"
)

// TestTextsAreReferredTo: policies with a reference in the place of a text come back as they were, as long as the text is there,
// and those that others hold never change.
func TestTextsAreReferredTo(t *testing.T) {
	params := map[string]string{CodeParam: "def order(): pass\n", "limit": "3"}
	p := &Policies{Policy: Choice{Name: "script", Params: maps.Clone(params)}, Admission: Choice{Name: "all"}}
	short, text := p.Refer()
	sum := SumOf(params[CodeParam])
	if text != params[CodeParam] || short.Refers() != sum || !maps.Equal(short.Policy.Params, map[string]string{CodeSum: sum, "limit": "3"}) {
		t.Errorf("%q is referred to by %v", text, short.Policy.Params)
	}
	back := short.Restore(func(asked string) string {
		if asked != sum {
			t.Errorf("asked for %s, not %s", asked, sum)
		}
		return text
	})
	if !maps.Equal(back.Policy.Params, params) || back.Refers() != "" || back.Admission.Name != "all" || back.Policy.Name != "script" {
		t.Errorf("came back as %+v", back)
	}
	if gone := short.Restore(func(string) string { return "" }); gone.Refers() != sum || gone.Policy.Params[CodeParam] != "" {
		t.Errorf("with the text gone: %v", gone.Policy.Params)
	}
	if !maps.Equal(p.Policy.Params, params) || short.Refers() != sum {
		t.Errorf("those held by others became %v and %v", p.Policy.Params, short.Policy.Params)
	}
}

// TestWithoutTexts: what has no text is left alone, and what there is not too.
func TestWithoutTexts(t *testing.T) {
	never := func(string) string { t.Error("asked for a text"); return "x" }
	for _, p := range []*Policies{nil, {}, {Policy: Choice{Name: "fair", Params: map[string]string{"limit": "3"}}}} {
		if got, text := p.Refer(); got != p || text != "" {
			t.Errorf("%+v: %+v, %q", p, got, text)
		}
		if got := p.Restore(never); got != p || p.Refers() != "" {
			t.Errorf("%+v: %+v", p, got)
		}
	}
	if SumOf("a") == SumOf("b") || len(SumOf("")) != 64 {
		t.Errorf("sums %s, %s", SumOf("a"), SumOf("b"))
	}
}
