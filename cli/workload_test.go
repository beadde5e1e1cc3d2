package cli

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/trace"
)

func TestParseShape(t *testing.T) {
	got, err := parseShape("swim,machines=600,reduce-bytes=1GiB,min-input=0", 40, 640, 0.2)
	want := trace.SWIMShape(600)
	want.ReduceBytes, want.MinInput, want.Scale = 1<<30, 0, 0.2
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got, err := parseShape("fine", 40, 640, 1); err != nil || got != trace.FineShape(640) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, says := range map[string]string{
		"swim,machines=0": "1..", "swim,colour=red": "known: machines", "grob": "swim or fine", "": "swim or fine", "swim,block=x": "256MiB", "fine,block=1": "1 MiB",
	} {
		if _, err := parseShape(text, 40, 640, 1); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q in it", text, err, says)
		}
	}
}

func TestParseRates(t *testing.T) {
	if got, err := parseRates("1.5MB:8MB"); err != nil || got != sim.NamedRates["slow"] {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "fast", "1", "0:1", "1:NaN"} {
		if _, err := parseRates(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzParseShape(f *testing.F) {
	for _, s := range []string{"swim", "fine", "swim,machines=40,reduce-bytes=64MiB", "fine,containers=1,block=1KiB", ",,="} {
		f.Add(s, 1.0)
	}
	f.Fuzz(func(t *testing.T, text string, scale float64) {
		s, err := parseShape(text, 40, 640, scale)
		if err != nil {
			return
		}
		j := s.Sized(trace.Job{InputBytes: 1 << 40, ShuffleBytes: 1 << 40, OutputBytes: 1 << 40})
		maps, reduces := s.Tasks(j)
		if maps < 1 || reduces < 0 || reduces > maxShape {
			t.Errorf("%q: %d maps and %d reduces", text, maps, reduces)
		}
	})
}
