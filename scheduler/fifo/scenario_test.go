package fifo

import (
	"testing"

	"github.com/millrace/millrace/scheduler/schedulertest"
)

func TestScenarios(t *testing.T) { schedulertest.Scenarios(t, "testdata", &Info) }
