package shuffle_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/millrace/millrace/shuffle"
)

// Two collectors, as of two map tasks, count words; a merge, as of the reduce task, adds up
// their counts. The values are integers as AddInt writes them.
func Example() {
	dir, err := os.MkdirTemp("", "shuffle")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	ctx, pool, sum := context.Background(), shuffle.NewPool(1<<20), &shuffle.Fold{Op: shuffle.SumInt}

	var sources []shuffle.Source
	for i, text := range []string{"to be or not to be", "be it so"} {
		out, err := count(ctx, shuffle.Config{
			Dir: dir, Name: fmt.Sprintf("map-%d", i), Pool: pool, Partitions: 1, Fold: sum, KeepInMemory: true,
		}, text)
		if err != nil {
			log.Fatal(err)
		}
		defer out.Release() //nolint:errcheck // in memory
		sources = append(sources, out.Source(0))
	}
	run, err := shuffle.Merge(ctx, shuffle.MergeConfig{Dir: dir, Name: "reduce-0", Pool: pool, Fold: sum}, sources)
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close() //nolint:errcheck // read to its end
	for run.Next() {
		fmt.Printf("%s %d\n", run.Key(), run.Value()[7])
	}
	if err := run.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// be 3
	// it 1
	// not 1
	// or 1
	// so 1
	// to 2
}

func count(ctx context.Context, cfg shuffle.Config, text string) (*shuffle.Output, error) {
	c, err := shuffle.NewCollector(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.Discard()
	for word := range strings.FieldsSeq(text) {
		if err := c.AddInt([]byte(word), 1); err != nil {
			return nil, err
		}
	}
	return c.Finish()
}
