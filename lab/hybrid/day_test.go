package hybrid

import (
	"testing"

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
