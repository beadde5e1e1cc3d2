package admission_test

import (
	"fmt"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
)

// The published cluster: 51 GB, drivers of 2 GB, tasks of 1 GB.
func ExampleSlots() {
	const queue, driver, task = 51 << 10, 2 << 10, 1 << 10
	for _, marp := range []float64{0.05, 0.25, 0.7} {
		fmt.Printf("MARP %.2f: %d jobs\n", marp, admission.Slots(marp, queue, driver))
	}
	fmt.Println("safe:", admission.SafeJobs(queue, driver, task, task), "jobs")
	// Output:
	// MARP 0.05: 1 jobs
	// MARP 0.25: 6 jobs
	// MARP 0.70: 17 jobs
	// safe: 16 jobs
}

// One step of CBT: the processors idle and jobs wait.
func ExampleCBT() {
	c, err := admission.NewCBT(admission.CBTConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Init([]scheduler.JobID{1, 2, 3}, 0.05)
	act := c.Step(admission.Obs{IdlePct: 60, Pending: 2, Running: 1, Prog: func(scheduler.JobID) float64 { return 55 }})
	fmt.Println("write", act.MARP, "and sleep", act.Sleep)
	// Output: write 0.09 and sleep 30s
}
