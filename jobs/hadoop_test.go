package jobs_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/jobs"
)

// TestHadoopSettings: settings of Hadoop do what they say or are refused; others are the user's.
func TestHadoopSettings(t *testing.T) {
	words := func(define ...string) []string {
		out := []string{"--mapper", "cat", "--reducer", "cat", "--input", "in", "--output", "out"}
		for _, d := range define {
			out = append(out, "-D", d)
		}
		return out
	}
	stages, err := jobs.Parse("streaming", words("mapred.reduce.tasks=7", "mapreduce.job.name=nightly", "my.setting=1"))
	if err != nil || stages[0].Reducers != 7 || stages[0].Name != "nightly" || stages[0].Params["my.setting"] != "1" {
		t.Errorf("%+v, %v", stages, err)
	}
	stages, err = jobs.Parse("streaming", words("mapreduce.job.reduces=0"))
	if err != nil || !stages[0].MapOnly {
		t.Errorf("%+v, %v", stages, err)
	}
	for define, want := range map[string]string{
		"mapreduce.task.timeout=600000":       "give --task-timeout",
		"mapred.max.split.size=1":             "give --split-bytes",
		"stream.num.map.output.key.fields=4":  "means nothing here",
		"map.output.key.field.separator=.":    "means nothing here",
		"tmpfiles=x":                          "give --file",
		"tmpjars=x":                           "means nothing here",
		"mapreduce.job.reduces=many":          "is not a number",
		"mapreduce.job.reduces=-1":            "must be in 1",
		"mapreduce.map.memory.mb=2048":        "give --map-memory",
		"mapreduce.partition.keypartitioner=": "means nothing here",
	} {
		if _, err := jobs.Parse("streaming", words(define)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-D %s: %v, want %q", define, err, want)
		}
	}
	if _, err := jobs.Parse("streaming", append(words("mapreduce.job.reduces=3"), "--reducers", "4")); err == nil || !strings.Contains(err.Error(), "give one of them") {
		t.Errorf("two numbers of reduces: %v", err)
	}
}
