package hybrid

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// Each reading of the larger cluster changes what its name says, of the same jobs, and nothing else.
func TestReadingsAtOnce(t *testing.T) {
	learned := hybrid.ByRule{Rule: hybrid.Rule{Scale: 2}} // unlike the label rule
	at := setting{day: []trace.Job{{InputBytes: 1 << 40}, {}}, wide: map[float64]func() hybrid.Classifier{wideScale: func() hybrid.Classifier { return learned }}}
	list := atOnce(at)
	as := func(v hybridVariant) hybridVariant {
		v.name, v.day = "", nil
		return v
	}
	judged := as(list[1])
	ruled, dry, roomy, quick := judged, judged, judged, judged
	ruled.learned, dry.steal, roomy.room, quick.faster = nil, false, 48, 2
	for i, want := range []hybridVariant{ruled, dry, roomy, quick} {
		if got := as(list[2+i]); got.classifier() != want.classifier() || got.steal != want.steal || got.room != want.room || got.faster != want.faster || got.scale != 0.2 || got.online || !got.whole {
			t.Errorf("%s: %+v", list[2+i].name, got)
		}
	}
}

// A reading with more containers, or with faster machines, has them on scale-up machines only.
func TestStrongerScaleUp(t *testing.T) {
	plain := hybridVariant{cluster: mixed, base: "fair", jobs: 20}
	strong := plain
	strong.room, strong.faster = 48, 2
	a, jobs, _, err := plain.config(1)
	if err != nil {
		t.Fatal(err)
	}
	b, _, _, err := strong.config(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Capacities {
		want := a.Capacities[i].Containers
		if mixed.isUp(topology.NodeID(i)) {
			want = 48
		}
		if got := b.Capacities[i].Containers; got != want {
			t.Errorf("machine %d has %d containers, want %d", i, got, want)
		}
	}
	if was, is := a.Model.(*twoSpeeds).factor(jobs[0]), b.Model.(*twoSpeeds).factor(jobs[0]); is != was/2 {
		t.Errorf("a task takes %g of its time on scale-up machines, %g on those twice as fast", was, is)
	}
}

// The row of what was tried on the larger cluster has every reading with its values, those of the strip and the one with sizes as they are.
func TestTriedAtOnce(t *testing.T) {
	day := trace.FB2010.Generate(60, rand.New(rand.NewPCG(1, 2)))
	at := setting{day: day, wide: map[float64]func() hybrid.Classifier{wideScale: func() hybrid.Classifier { return hybrid.ByRule{Rule: rule} }}}
	var rows []scaled
	report := ran(t, "hybrid-batch", func(r *lab.Recorder) {
		rows = triedAtOnce(r, at, scaled{"sizes as they are", map[string][]hybridRun{"FS": {made(100)}, "H-FS-with": {made(150)}}})
	})
	c := report.Checks[0]
	if !strings.HasPrefix(c.Measured, "sizes as they are: 1.5 and 1.5, 0 jobs stolen; ") || len(rows) != 5 {
		t.Errorf("%d readings: %s", len(rows), c.Measured)
	}
	for _, row := range rows {
		if !strings.Contains(c.Measured, row.name+": ") || len(row.got["FS"]) != 1 || len(row.got["H-FS-with"]) != 1 {
			t.Errorf("%q is not in %s", row.name, c.Measured)
		}
	}
	if !strings.Contains(c.Why, " of 60 jobs are called small and are there at once, for 144 containers") {
		t.Errorf("%s", c.Why)
	}
}
