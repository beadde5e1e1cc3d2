// Command mutate makes small random mistakes in the code, one at a time, and runs the tests that are nearest to each. It
// prints those that no test notices. A test that fails without the mistake too has noticed nothing: where no other failed,
// the mistake counts neither way. `make mutate N=60 SEED=1` runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// packages are where mistakes are made, with the tests that are run if those of the package itself and of those below
// the folder notice nothing.
var packages = map[string][]string{
	"shuffle":   {"./task/...", "./local"},
	"task":      {"./local"},
	"mapreduce": {"./jobs", "./local"},
	"dfs":       {"./dfs/..."},
	"master":    {"./master/...", "./client", "./worker/attempt"},
	"worker":    {"./worker/...", "./client"},
	"scheduler": {"./scheduler/...", "./sim"},
	"sim":       {"./sim/...", "./lab/..."},
	"internal":  {"./master", "./dfs/...", "./client", "./worker/attempt"},
	"client":    {"./client"},
	"web":       {"./web"},
	"play":      {"./play"},
}

// far are tests of whole clusters, minutes long, which are run only where they are asked for.
const far = "./integration"

func main() {
	n := flag.Int("n", 60, "how many mistakes")
	seed := flag.Uint64("seed", 1, "which ones")
	in := flag.String("in", "", "only in files whose path begins so")
	all := flag.Bool("far", false, "what nothing else notices: the tests of whole clusters too, minutes for each")
	flag.Parse()
	if err := run(*n, *seed, *in, *all); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// tally counts the mistakes of a folder. Those of which nobody can tell are not among made.
type tally struct{ made, noticed, unsure int }

func (t *tally) add(v verdict) {
	if v.unsure() {
		t.unsure++
		return
	}
	t.made++
	if v.noticed != "" {
		t.noticed++
	}
}

func (t *tally) print(name string) {
	fmt.Printf("%-10s %d of %d noticed, %.0f %%", name, t.noticed, t.made, 100*float64(t.noticed)/float64(max(t.made, 1)))
	if t.unsure > 0 {
		fmt.Printf(", %d unsure", t.unsure)
	}
	fmt.Println()
}

func run(n int, seed uint64, in string, whole bool) error {
	all, err := changes(in)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "millrace-mutate-")
	if err != nil {
		return fmt.Errorf("make a directory for changed files: %w", err)
	}
	defer os.RemoveAll(dir)
	random := rand.New(rand.NewPCG(seed, 0))
	counts := map[string]*tally{}
	for made := 0; made < n; {
		c := all[random.IntN(len(all))]
		v, err := try(dir, &c, whole)
		if errors.Is(err, errBuild) {
			continue
		}
		if err != nil {
			return err
		}
		made++
		folder, _, _ := strings.Cut(c.file, "/")
		if counts[folder] == nil {
			counts[folder] = &tally{}
		}
		counts[folder].add(v)
		fmt.Printf("%3d %s:%d: %s: %s\n", made, c.file, c.line, strings.Join(strings.Fields(c.what), " "), v)
	}
	report(seed, counts)
	return nil
}

func report(seed uint64, counts map[string]*tally) {
	var all tally
	fmt.Printf("\nseed %d\n", seed)
	for _, folder := range slices.Sorted(maps.Keys(counts)) {
		c := counts[folder]
		all = tally{all.made + c.made, all.noticed + c.noticed, all.unsure + c.unsure}
		c.print(folder)
	}
	all.print("all")
}

// changes lists what can be changed in files of the packages whose path begins so.
func changes(in string) (out []change, err error) {
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !ours(path) || !strings.HasPrefix(filepath.ToSlash(path), in) {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, err := changesOf(filepath.ToSlash(path), src)
			out = append(out, found...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for what can be changed in %s: %w", folder, err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("nothing can be changed in %q: -in is the beginning of a path, as dfs/names", in)
	}
	return out, nil
}

// ours is true for code that is built here and is no test.
func ours(path string) bool {
	name := filepath.Base(path)
	if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(path, "testdata") {
		return false
	}
	dir := filepath.ToSlash(filepath.Dir(path))
	if slices.Contains([]string{"internal/mutate", "internal/lint", "internal/testcluster", "scheduler/schedulertest"}, dir) {
		return false
	}
	for _, system := range []string{"_other.go", "_darwin.go", "_windows.go", "_unix.go"} {
		if strings.HasSuffix(name, system) {
			return false
		}
	}
	return true
}
