package main

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

// The policy keeps what every policy promises.
func TestPromises(t *testing.T) {
	schedulertest.Suite(t, func() scheduler.Policy {
		p, err := shortest.Make(shortest.UsualParams(nil))
		if err != nil {
			t.Fatal(err)
		}
		return p.(scheduler.Policy)
	}, schedulertest.Promises{Quick: true})
}
