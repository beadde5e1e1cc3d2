package gensort_test

import (
	"fmt"
	"os"

	"github.com/millrace/millrace/jobs/gensort"
)

func ExampleGenerator() {
	rows := make([]byte, 2*gensort.RecordSize)
	gensort.NewGenerator(gensort.Uint128{Lo: 1_000_000}, gensort.ASCII).Fill(rows)
	for i := range 2 {
		fmt.Printf("%s...\n", rows[i*gensort.RecordSize:][:44])
	}
	// Output:
	// }#GV9O0\FG  000000000000000000000000000F4240...
	// (8ao5*.)-:  000000000000000000000000000F4241...
}

func ExampleSummary() {
	rows := make([]byte, 1000*gensort.RecordSize)
	gensort.NewGenerator(gensort.Uint128{}, gensort.Binary).Fill(rows)
	var s gensort.Summary
	if err := s.Add(rows); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Print(s.String())
	// Output:
	// First unordered record is record 2
	// Records: 1000
	// Checksum: 1f9ffe645ec
	// ERROR - there are 483 unordered records
}
