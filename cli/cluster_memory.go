package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
)

// A shape is what a directory remembers of its last cluster that was ready, so that `cluster up` can restore it.
type shape struct {
	Flags       map[string][]string `json:"flags,omitempty"`       // those that were given
	Description string              `json:"description,omitempty"` // the text of --file, which may be deleted by then
}

var (
	// machineFlags set what a description also sets.
	machineFlags = []string{"workers", "racks", "containers", "memory", "topology", "config"}
	// lastingFlags go with any description.
	lastingFlags = []string{"key", "port"}
	// policyFlags have parameters, which belong to one policy only.
	policyFlags = map[string]string{"param": "policy", "admission-param": "admission"}
)

func shapePath(dir string) string { return filepath.Join(dir, "shape.json") }

// readShape returns an empty shape if there has been no cluster.
func readShape(dir string) (s shape, err error) {
	b, err := readBounded(shapePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		err = fmt.Errorf("what the directory remembers of its cluster: %s: %w (remove the file, and give the flags or --file again)", shapePath(dir), err)
	}
	return s, err
}

// givenFlags returns the flags of the command line that shape a cluster, with absolute file names.
func givenFlags(flags *pflag.FlagSet) map[string][]string {
	out := map[string][]string{}
	flags.Visit(func(f *pflag.Flag) {
		list, ok := f.Value.(pflag.SliceValue)
		switch {
		case slices.Contains([]string{"dir", "file", "timeout"}, f.Name):
		case ok:
			out[f.Name] = list.GetSlice()
		case slices.Contains([]string{"topology", "config", "key"}, f.Name):
			if abs, err := filepath.Abs(f.Value.String()); err == nil {
				out[f.Name] = []string{abs}
			}
		default:
			out[f.Name] = []string{f.Value.String()}
		}
	})
	return out
}

// recall fills in what the command line leaves open from the directory's last cluster, and says so.
func (o *upOptions) recall(out io.Writer, flags *pflag.FlagSet) error {
	s, err := readShape(o.dir)
	if err != nil {
		return err
	}
	given := givenFlags(flags)
	var taken, left []string
	if s.Description != "" && o.file == "" {
		for _, flag := range machineFlags {
			if given[flag] != nil {
				return fmt.Errorf("--%s cannot go with the description of machines that %s remembers: change the file that it was started with, and give it again as --file", flag, o.dir)
			}
		}
		o.text, taken = []byte(s.Description), append(taken, "the machines of its --file")
	}
	for _, flag := range slices.Sorted(maps.Keys(s.Flags)) {
		words := "--" + flag + " " + strings.Join(s.Flags[flag], " --"+flag+" ")
		switch {
		case slices.Equal(given[flag], s.Flags[flag]):
		case given[flag] != nil, s.otherPolicy(given, flag), o.file != "" && !slices.Contains(lastingFlags, flag):
			left = append(left, words)
		default:
			taken = append(taken, words)
			for _, v := range s.Flags[flag] {
				if err := flags.Set(flag, v); err != nil {
					return fmt.Errorf("%s: --%s: %w", shapePath(o.dir), flag, err)
				}
			}
		}
	}
	o.say(out, "as before", taken)
	o.say(out, "no longer, by your flags", left)
	return nil
}

func (o *upOptions) say(out io.Writer, how string, list []string) {
	if len(list) > 0 {
		fmt.Fprintf(out, "cluster of %s, %s: %s\n", human.Printable(o.dir), how, strings.Join(list, ", "))
	}
}

// otherPolicy reports whether a flag has parameters of a policy that the command line replaces.
func (s *shape) otherPolicy(given map[string][]string, flag string) bool {
	now := given[policyFlags[flag]]
	return now != nil && !slices.Equal(now, s.Flags[policyFlags[flag]])
}

// remember stores the shape of a cluster that is ready.
func (o *upOptions) remember(flags *pflag.FlagSet) error {
	b, err := json.MarshalIndent(shape{givenFlags(flags), string(o.text)}, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(shapePath(o.dir), string(b)+"\n")
}

// absent returns workers that have files in the directory but are not to be started.
func absent(dir string, workers []clusterWorker) (out []string) {
	locks, _ := filepath.Glob(workerLock(dir, "*")) // the pattern is ours
	for _, lock := range locks {
		name := filepath.Base(filepath.Dir(lock))
		if !slices.ContainsFunc(workers, func(w clusterWorker) bool { return w.Name == name }) {
			out = append(out, name)
		}
	}
	return out
}
