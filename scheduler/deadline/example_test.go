package deadline_test

import (
	"fmt"

	"github.com/millrace/millrace/scheduler/deadline"
)

// The test vector of spec/deadline 3.3: tasks took 10, 20 and 30 s, two have run
// for 5 and 25 s, 17 have not started, and 100 s are left.
func Example() {
	mu := deadline.Mean(10+20+30, 3)
	p := deadline.Population{
		Mean: mu, Running: 2, NotStarted: 17,
		Left: deadline.Delta(mu, 5, true) + deadline.Delta(mu, 25, true),
	}
	need := deadline.Need(p.Pending(), 100)
	missing := deadline.Deficit(need, p.Running)
	fmt.Printf("pending %g s, need %g slots, missing %.2f: %d more\n", p.Pending(), need, missing, deadline.Allowed(missing))
	// Output: pending 355 s, need 3.55 slots, missing 1.55: 2 more
}
