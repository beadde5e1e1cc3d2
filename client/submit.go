package client

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// SpecOf describes a chain of jobs and the program that builds it.
func SpecOf(stages []mapreduce.Job, prog wire.Program, overwrite bool) wire.JobSpec {
	first, last := &stages[0], &stages[len(stages)-1]
	s := wire.JobSpec{
		Name: first.Name, User: first.User, Queue: first.Queue, Pool: first.Pool, Priority: first.Priority,
		Deadline: first.Deadline.Milliseconds(), Program: prog, Stages: len(stages), Output: last.Output, Overwrite: overwrite,
		Attempts: first.MaxAttempts, Bad: first.SkipBadRecords, Shape: wire.Shape(first.Shape()),
	}
	schedule(&s, &first.Scheduling)
	if s.Name == "" {
		s.Name = "job"
	}
	for _, in := range first.AllInputs() {
		if len(s.Inputs)+len(in.Paths) <= maxInputs {
			s.Inputs = append(s.Inputs, in.Paths...)
		}
	}
	return s
}

// schedule copies to a submission what the job tells the scheduler.
func schedule(s *wire.JobSpec, from *mapreduce.Scheduling) {
	room := func(r mapreduce.Demand) wire.Demand {
		return wire.Demand{VCores: int32(r.VCores), MemoryMB: (r.MemoryBytes + 1<<20 - 1) >> 20}
	}
	usual := room(from.MapDemand)
	s.VCores, s.MemoryMB, s.Reduce, s.Driver = usual.VCores, usual.MemoryMB, room(from.ReduceDemand), room(from.DriverDemand)
	s.Weight, s.Slowstart, s.ReduceCost, s.Recurring = from.Weight, from.Slowstart, from.ReduceCost, from.Recurring
	e := &from.Expect
	s.Expect = wire.Expected{Input: e.InputBytes, Shuffle: e.ShuffleBytes, MapMillis: e.MapTime.Milliseconds(), ReduceMillis: e.ReduceTime.Milliseconds()}
}

// maxInputs is how many inputs a submission names. The driver finds out about the rest.
const maxInputs = 100

// ShipSide ships the side files of a chain.
func (c *Client) ShipSide(ctx context.Context, stages []mapreduce.Job) (out []wire.Side, err error) {
	seen := map[string]bool{}
	for _, j := range stages {
		for _, f := range j.SideFiles {
			if seen[f] {
				continue
			}
			seen[f] = true
			path, hash, err := c.Ship(ctx, f)
			if err != nil {
				return nil, fmt.Errorf("side file: %w", err)
			}
			out = append(out, wire.Side{Name: filepath.Base(f), Path: path, Hash: hash})
		}
	}
	return out, nil
}
