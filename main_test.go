package millrace

import (
	"flag"
	"testing"
	"time"

	"github.com/millrace/millrace/mapreduce"
)

// TestSchedulingFlags: an own program takes what its job tells the scheduler from flags, and what the job has is the default;
// a flag that the program has itself stays its own.
func TestSchedulingFlags(t *testing.T) {
	f := flag.NewFlagSet("own", flag.ContinueOnError)
	weight := f.String("weight", "", "of the program")
	stages := []mapreduce.Job{{Name: "own", Deadline: time.Minute}, {}}
	var o options
	o.define(f, &stages[0])
	if err := f.Parse([]string{"-queue", "q", "-recurring", "-expect-map-time=3s", "-map-memory=2GiB", "-weight=heavy", "-slowstart=0", "-input", "in", "-output", "out"}); err != nil {
		t.Fatal(err)
	}
	if err := o.apply(stages); err != nil {
		t.Fatal(err)
	}
	j := stages[0]
	s := j.Scheduling
	if j.Queue != "q" || !s.Recurring || s.Expect.MapTime != 3*time.Second || s.MapRoom.MemoryBytes != 2<<30 || j.Deadline != time.Minute || j.Name != "own" {
		t.Errorf("%+v", j)
	}
	if *weight != "heavy" || s.Weight != 0 || s.Slowstart >= 0 {
		t.Errorf("the program's weight is %q, the job's %g; slow start %g", *weight, s.Weight, s.Slowstart)
	}
	if got := f.Lookup("slowstart").Value.String(); got != "0" {
		t.Errorf("children get -slowstart=%s", got)
	}
}
