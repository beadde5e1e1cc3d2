package capacity_test

import (
	"fmt"

	"github.com/millrace/millrace/scheduler/capacity"
)

// How many slots one user may hold in a queue of 60 guaranteed slots with a
// user limit of 25 %, by number of users who compete.
func ExampleUserLimit() {
	for _, users := range []int32{1, 2, 3, 4, 50} {
		fmt.Print(capacity.UserLimit(60, 0, users, 1, 25, 1), " ")
	}
	// Output: 60 30 20 15 15
}

func ExampleLimitsOf() {
	fmt.Printf("%+v\n", capacity.LimitsOf(3000, 0.5, 25, 10))
	// Output: {Init:1500 InitPerUser:375 Accept:15000 AcceptPerUser:3750}
}
