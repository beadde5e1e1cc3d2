package sizebased_test

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/sizebased"
)

// A predictor without experience takes the given work, or a constant per byte.
func ExamplePredictor() {
	cfg := sizebased.DefaultPredictConfig()
	cfg.Noise = 0
	p, err := sizebased.NewPredictor(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Size(&scheduler.JobSpec{Work: time.Minute}))
	fmt.Println(p.Size(&scheduler.JobSpec{Input: scheduler.Bytes(3e9)}))
	// Output:
	// 60
	// 600
}
