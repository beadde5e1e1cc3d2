package streaming

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/mapreduce"
)

// environment returns what a command sees: the worker's path and home, none of its other variables, and the job's
// settings under Hadoop's names.
func environment(t *mapreduce.Task) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"} {
		v, ok := os.LookupEnv(name)
		if name == "PATH" { // a shipped script is found by its bare name, as Hadoop's users write it
			v, ok = strings.TrimSuffix(workDir(t)+":"+v, ":"), true
		}
		if ok {
			env = append(env, name+"="+v)
		}
	}
	settings := map[string]string{
		"mapreduce.job.name":        t.Job,
		"mapreduce.job.reduces":     strconv.Itoa(t.Reduces),
		"mapreduce.task.ismap":      strconv.FormatBool(t.Kind == mapreduce.MapTask),
		"mapreduce.task.partition":  strconv.Itoa(t.Index),
		"mapreduce.task.id":         fmt.Sprintf("task_%c_%06d", t.Kind.String()[0], t.Index),
		"mapreduce.task.attempt.id": fmt.Sprintf("attempt_%c_%06d_%d", t.Kind.String()[0], t.Index, t.Attempt),
		"mapreduce.map.input.file":  t.Input(),
	}
	maps.Copy(settings, t.Params)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		env = append(env, variable(name)+"="+strings.ReplaceAll(settings[name], "\x00", ""))
	}
	return env
}

// variable replaces every character that is not a letter or digit by "_".
func variable(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '_'
	}, name)
}
