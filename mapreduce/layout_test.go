package mapreduce_test

import (
	"fmt"

	"github.com/millrace/millrace/mapreduce"
)

func ExampleShape() {
	job := mapreduce.Job{Name: "sizes", Reducers: 4}
	split, reduces := job.Shape().Layout(10<<30, 12)
	fmt.Println(split>>20, "MiB for each map,", reduces, "reduces")
	// Output: 64 MiB for each map, 4 reduces
}

func ExampleCountOf() {
	fmt.Println(mapreduce.CountOf(mapreduce.CountInput(1000)))
	fmt.Println(mapreduce.CountOf("dfs:/words"))
	// Output:
	// 1000 true
	// 0 false
}
