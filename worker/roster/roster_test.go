package roster

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

func launchOf(try uint64) wire.Launch {
	return wire.Launch{
		ID:   wire.AttemptID{Job: "job-1", Kind: wire.MapTask, Index: int32(try), Try: try},
		Spec: &wire.JobSpec{Name: "j"}, Split: &wire.Split{},
	}
}

func newCore() *Roster {
	return New(Config{Node: "n1", Session: "s", Capacity: wire.Capacity{Containers: 2}})
}

// TestOldMasterIsNotObeyed: whatever a master says that was replaced, and however late, changes nothing.
func TestOldMasterIsNotObeyed(t *testing.T) {
	c := newCore()
	l := launchOf(1)
	if e := c.Answer(&wire.Answer{Epoch: 2, Seq: c.Report().Seq, Launch: []wire.Launch{l}}); len(e.Start) != 1 {
		t.Fatalf("the master is not obeyed: %+v", e)
	}
	old := &wire.Answer{
		Epoch: 1, Seq: c.Report().Seq, Launch: []wire.Launch{launchOf(2)}, Kill: []wire.Kill{{ID: l.ID, Why: "old"}},
		Drop: []wire.StageRef{{Job: "job-1"}}, Ended: []wire.AttemptID{l.ID},
	}
	if e := c.Answer(old); len(e.Start)+len(e.Stop)+len(e.Drop) > 0 {
		t.Errorf("a master that was replaced is obeyed: %+v", e)
	}
	if c.Epoch() != 2 || c.Busy() != 1 {
		t.Errorf("epoch %d, %d attempts", c.Epoch(), c.Busy())
	}
	if e := c.Answer(&wire.Answer{Epoch: 2, Seq: c.Report().Seq, Kill: []wire.Kill{{ID: l.ID, Why: "new"}}}); len(e.Stop) != 1 {
		t.Errorf("the master is no longer obeyed: %+v", e)
	}
}

// TestOvertakenAnswer: an answer that comes twice, or after a newer one, changes nothing.
func TestOvertakenAnswer(t *testing.T) {
	c := newCore()
	first := &wire.Answer{Epoch: 1, Seq: c.Report().Seq, Launch: []wire.Launch{launchOf(1)}}
	second := &wire.Answer{Epoch: 1, Seq: c.Report().Seq}
	if e := c.Answer(second); len(e.Start) != 0 {
		t.Errorf("%+v", e)
	}
	if e := c.Answer(first); len(e.Start) != 0 || c.Busy() != 0 {
		t.Errorf("an answer that was overtaken is obeyed: %+v", e)
	}
}

// TestEndIsToldUntilAcknowledged: an end is reported again and again until the master has taken note of it.
func TestEndIsToldUntilAcknowledged(t *testing.T) {
	c := newCore()
	l := launchOf(1)
	c.Answer(&wire.Answer{Epoch: 1, Seq: c.Report().Seq, Launch: []wire.Launch{l}})
	c.Ended(wire.Ended{ID: l.ID, OK: true})
	for range 3 {
		r := c.Report()
		if len(r.Ended) != 1 || r.Ended[0].ID != l.ID {
			t.Fatalf("reported %+v", r.Ended)
		}
		c.Answer(&wire.Answer{Epoch: 1, Seq: r.Seq})
	}
	c.Answer(&wire.Answer{Epoch: 1, Seq: c.Report().Seq, Ended: []wire.AttemptID{l.ID}})
	if r := c.Report(); len(r.Ended) != 0 {
		t.Errorf("still reported: %+v", r.Ended)
	}
}

// TestDropWhileAttemptsRun: attempts that run when their stage is dropped may write until they end, so that the last one's end drops the stage
// again; their output is held for nobody.
func TestDropWhileAttemptsRun(t *testing.T) {
	c := newCore()
	stage := wire.StageRef{Job: "job-1"}
	first, second := launchOf(1), launchOf(2)
	c.Answer(&wire.Answer{Epoch: 1, Seq: c.Report().Seq, Launch: []wire.Launch{first, second}})
	e := c.Answer(&wire.Answer{Epoch: 1, Seq: c.Report().Seq, Kill: []wire.Kill{{ID: first.ID, Why: "cancelled"}, {ID: second.ID, Why: "cancelled"}}, Drop: []wire.StageRef{stage}})
	if len(e.Drop) != 1 || len(e.Stop) != 2 {
		t.Fatalf("%+v", e)
	}
	if e := c.Ended(wire.Ended{ID: first.ID, OK: true}); len(e.Drop) != 0 {
		t.Errorf("dropped while another attempt runs: %+v", e)
	}
	if e := c.Ended(wire.Ended{ID: second.ID}); len(e.Drop) != 1 || e.Drop[0] != stage {
		t.Errorf("what the attempts wrote after the drop stays: %+v", e)
	}
	if r := c.Report(); len(r.Stages) != 0 || len(r.Ended) != 2 {
		t.Errorf("stages %v, ended %+v", r.Stages, r.Ended)
	}
	third := launchOf(3)
	c.Answer(&wire.Answer{Epoch: 1, Seq: c.Report().Seq, Launch: []wire.Launch{third}})
	if e := c.Ended(wire.Ended{ID: third.ID, OK: true}); len(e.Drop) != 0 {
		t.Errorf("a stage that is wanted again is dropped: %+v", e)
	}
	if r := c.Report(); len(r.Stages) != 1 {
		t.Errorf("the output of a stage that is wanted again is not held: %v", r.Stages)
	}
	fourth, stageAfter, jobAfter := launchOf(4), launchOf(5), launchOf(6)
	stageAfter.ID.Stage, jobAfter.ID.Job = 1, "job-2"
	c.Answer(&wire.Answer{Epoch: 1, Seq: c.Report().Seq, Launch: []wire.Launch{fourth, stageAfter, jobAfter}})
	c.Answer(&wire.Answer{Epoch: 1, Seq: c.Report().Seq, Drop: []wire.StageRef{stage}})
	if e := c.Ended(wire.Ended{ID: fourth.ID, OK: true}); len(e.Drop) != 1 || e.Drop[0] != stage {
		t.Errorf("what the last attempt of a stage wrote stays, while others run, of its job or of another's stage: %+v", e)
	}
}
