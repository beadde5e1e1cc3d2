package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestSmallJobsBesideALargeOne: on four workers of three containers, with the policies a master has if nobody says
// otherwise, three small jobs, one after the other, while a large one runs. They take at most three times as long as
// alone, on average; as published it was thirty times. Tasks sleep, so that a busy machine makes all of them slower alike.
func TestSmallJobsBesideALargeOne(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 4})
	sleep := func(name string, maps, reduces int) wire.JobID {
		return c.Submit(wire.JobSpec{}, "sleep", "--maps", fmt.Sprint(maps), "--reduces", fmt.Sprint(reduces),
			"--map-time", "300ms", "--reduce-time", "300ms", "--output", "dfs:/"+name)
	}
	run := func(name string) time.Duration {
		t.Helper()
		s := c.Finish(sleep(name, 4, 2))
		if s.State != "SUCCEEDED" {
			t.Fatalf("%+v", s)
		}
		return time.Duration(s.Ended-s.Submitted) * time.Millisecond
	}
	alone := max(run("alone1"), run("alone2"))
	large := sleep("large", 200, 10)
	c.Wait("the large job is well under way", func() bool { return c.Status(large).Maps.Done > 45 })
	beside := max(run("s1"), run("s2"), run("s3"))
	t.Logf("alone %v, beside a large job %v at most", alone, beside)
	if s := c.Status(large); s.State != "RUNNING" {
		t.Fatalf("the large job is %s: nothing was shown", s.State)
	}
	if beside > 3*alone {
		t.Errorf("alone %v, beside a large job %v", alone, beside)
	}
	if s := c.Finish(large); s.State != "SUCCEEDED" {
		t.Errorf("%+v", s)
	}
}
