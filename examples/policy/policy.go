package main

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/keyed"
	"github.com/millrace/millrace/topology"
)

// shortest serves the job with the fewest maps left to start: small jobs do not wait behind large ones.
var shortest = keyed.Info("shortest", "the job with the fewest maps left to start comes first", key)

// key is smallest for the job to be served. Whatever the view shows may count: scheduler.Job and scheduler.View say what there is.
func key(_ time.Duration, j *scheduler.Job, _ topology.NodeID, _ *scheduler.View) int64 {
	return int64(j.Pending(scheduler.Map))
}
