package nas_test

import (
	"fmt"

	"github.com/millrace/millrace/scheduler/nas"
)

// The more a job shuffles, the sooner its reduces may start.
func ExampleCompletionThreshold() {
	for _, shuffle := range []float64{0, 50, 100} {
		fmt.Printf("%3g GB: %.2f of the maps\n", shuffle, nas.CompletionThreshold(shuffle, 0, 100, 0.2, 0.5, false))
	}
	// Output:
	//   0 GB: 0.50 of the maps
	//  50 GB: 0.35 of the maps
	// 100 GB: 0.20 of the maps
}

// Ten maps write 600 MB, thirty write nothing, six run on a node at a time.
func ExampleTrafficThreshold() {
	fmt.Println(nas.TrafficThreshold(6, 600, 40), "MB")
	// Output: 90 MB
}

// Sixty percent of the map output lies in this rack.
func ExampleReduceNum() {
	fmt.Println(nas.ReduceNum(10, 0.6))
	// Output: 6
}
