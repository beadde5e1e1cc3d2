package local_test

import (
	"os"
	"testing"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// TestNothingIsIgnored: what a job would not do as it was told is refused, with the next step.
func TestNothingIsIgnored(t *testing.T) {
	mapOnly := mapreduce.Job{Map: words, MapOnly: true}
	for what, tt := range map[string]struct {
		edit func(b *bed, j *mapreduce.Job)
		want string
	}{
		"reduces of a map-only job": {func(_ *bed, j *mapreduce.Job) { j.Reducers = 3 }, "Reducers is set, but a map-only job has no reduce"},
		"order of a map-only job":   {func(_ *bed, j *mapreduce.Job) { j.Sort = mapreduce.Descending }, "Sort is set, but a map-only job has no reduce"},
		"partition of a map-only job": {
			func(_ *bed, j *mapreduce.Job) { j.Partition = mapreduce.TotalOrder{} },
			"Partition is set, but a map-only job has no reduce",
		},
		"a file twice": {func(_ *bed, j *mapreduce.Job) { j.Input = append(j.Input, j.Input[0][:len(j.Input[0])-1]+"?") }, "is given twice"},
		"lines of a record file": {func(b *bed, j *mapreduce.Job) {
			first := *j
			first.Format = mapreduce.RecordOutput
			if _, err := b.run(local.Config{}, first); err != nil {
				b.t.Fatal(err)
			}
			j.Input = []string{b.out}
			b.out = b.dir + "/second"
		}, "is a record file, which has no lines: read it with Records"},
		"a link as output": {func(b *bed, _ *mapreduce.Job) {
			b.out = b.dir + "/link"
			b.write("target/_SUCCESS", "") // the output of a job, which may be overwritten
			if err := os.Symlink(b.dir+"/target", b.out); err != nil {
				b.t.Fatal(err)
			}
		}, "is a symbolic link to"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBed(t)
			j := mapOnly
			j.Input = []string{b.write("in", "a b\n")}
			tt.edit(b, &j)
			if what == "a link as output" {
				if _, err := b.run(local.Config{Overwrite: true}, j); err == nil {
					t.Error("the link was replaced")
				}
				if to, err := os.Readlink(b.out); err != nil || to != b.dir+"/target" {
					t.Errorf("the link leads to %q, %v", to, err)
				}
				return
			}
			b.fails(local.Config{}, []string{tt.want}, j)
		})
	}
}
