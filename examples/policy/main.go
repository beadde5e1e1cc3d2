// Command policy is a millrace with one policy more, "shortest", in the simulator, in what-if, in the playground and on a live
// cluster. millrace scheduler new makes such a module for a policy of your own.
//
//	go run ./examples/policy sim run --policy fair,shortest --trace gen:fb-2010:300 --load 0.9
//	go run ./examples/policy scheduler test shortest
package main

import (
	"github.com/millrace/millrace/cli"
	"github.com/millrace/millrace/scheduler/policies"
)

func main() {
	policies.Register(shortest)
	cli.Main()
}
