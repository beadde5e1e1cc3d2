// Command noop is a program of a user's size whose tasks do nothing: what the row
// "processes" of the cluster's table ships. Only workers can start it.
package main

import (
	"fmt"
	"os"

	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/worker/attempt"
)

func main() {
	if os.Getenv(attempt.ChildEnv) == "" {
		fmt.Fprintln(os.Stderr, "noop is for workers to start")
		os.Exit(2)
	}
	stages, err := jobs.Parse("sleep", os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(attempt.Child(stages))
}
