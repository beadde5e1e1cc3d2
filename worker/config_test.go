package worker

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// TestOneBudget: a worker that is told nothing of memory divides the default, for itself and for attempts in processes of their own.
func TestOneBudget(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Node, cfg.Master, cfg.Dir, cfg.Memory, cfg.Capacity.Containers = "w1", "127.0.0.1:1", t.TempDir(), 0, 4
	cfg.Build = func(*wire.Program) ([]mapreduce.Job, error) { return nil, nil }
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	w := &Worker{cfg: cfg}
	if own, child := w.Budget().Total(), w.budgetOf(&wire.Launch{}).Total(); own != shuffle.DefaultMemory || child != shuffle.DefaultMemory/4 {
		t.Errorf("%d bytes for the worker and %d for an attempt, want %d and a quarter of it", own, child, shuffle.DefaultMemory)
	}
}
