package scheduler

import (
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

func TestReasonText(t *testing.T) {
	g := newTestEngine(t, 1, 2, Capacity{MapSlots: 1}, nil)
	mustFeed(t, g, JobSubmitted(&JobSpec{ID: 7, Name: "wordcount", User: "alice", Queue: "long", Maps: 1}))
	j := g.View().Job(7)
	for _, tc := range []struct {
		r    Reason
		want string
	}{
		{Reason{Say: "{job} waits: {group} holds {a} of {b} slots", Job: 7, Group: j.Member(), A: 15, B: 15}, "wordcount waits: user alice of queue long holds 15 of 15 slots"},
		{Reason{Say: "{other} skips {a}/{b}, wants {node} in {rack}", Other: 9, Node: 1, A: 1, B: 2}, "j9 skips 1/2, wants n1 in r0"},
		{Reason{Say: "{group} {kind} {a:bytes} {b:time} {c:milli}", Group: j.Queue(), Kind: Reduce, A: 3 << 29, B: int64(1500 * time.Millisecond), C: 1550}, "queue long reduce 1.5GiB 1.5s 1.55"},
		{Reason{Say: "{group} {node} {what} {open", Node: topology.NoNode}, "nobody node -1 {what} {open"},
		{Reason{Say: "{a:bytes} {b:bytes} {c:bytes}", A: 1023, B: 1 << 50, C: 1 << 62}, "1023B 1PiB 4096PiB"},
		{Reason{Say: "{a:bytes} {b:jobs are} {c:jobs are}", A: -2048, B: 1, C: 2}, "-2KiB 1 job is 2 jobs are"},
		{Reason{Say: "{a:bytes} {b:bytes} {c:bytes}", A: 1024, B: -1024, C: -1023}, "1KiB -1KiB -1023B"},
		{Reason{Code: NoWork}, "no-work"},
		{Run(TaskID{}, Anywhere, Reason{}).Reason, "chosen"},
		{Run(TaskID{}, Anywhere, Reason{Code: ForPlan}).Reason, "plan"},
	} {
		if got := tc.r.Text(g.View()); got != tc.want {
			t.Errorf("got  %q\nwant %q", got, tc.want)
		}
	}
	if got := (Reason{Say: "{job} on {node}", Job: 7, Node: 1}).Text(nil); got != "j7 on node 1" {
		t.Errorf("without a view: %q", got)
	}
}
