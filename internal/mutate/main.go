// Command mutate makes small random mistakes in the code, one at a time, and runs the tests that are nearest to
// each. It prints the mistakes that no test notices. A test that also fails without the mistake has not noticed it.
// If no other test failed, the mistake does not count. `make mutate N=60 SEED=1` runs it.
//
// All mistakes of a run are behind a switch in one overlay, so that each test program is built once, and run once
// for each mistake. The few that cannot be behind a switch get programs of their own.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// packages are where mistakes are made, with the tests to run if those of the package itself and those below the
// folder notice nothing.
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

// far are the tests of whole clusters, which take minutes and run only on request.
const far = "./integration"

// settings say which mistakes are made, and which tests run.
type settings struct {
	n          int
	seed       uint64
	in         string
	only       *regexp.Regexp
	own, whole bool
	atOnce     int
}

func main() {
	var s settings
	flag.IntVar(&s.n, "n", 60, "how many mistakes")
	flag.Uint64Var(&s.seed, "seed", 1, "which ones")
	flag.StringVar(&s.in, "in", "", "only in files whose path begins so")
	only := flag.String("only", "", "only in packages whose folder this regular expression matches, as '^shuffle$'")
	flag.BoolVar(&s.own, "own", false, "ask only the tests of the package itself")
	flag.BoolVar(&s.whole, "far", false, "what nothing else notices: the tests of whole clusters too, minutes for each")
	flag.IntVar(&s.atOnce, "p", 2, "how many mistakes are tried at the same time")
	flag.Parse()
	var err error
	if s.only, err = regexp.Compile(*only); err == nil {
		err = run(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// tally counts the mistakes of a folder. made does not include those that are unsure.
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
	fmt.Printf("%-22s %d of %d noticed, %.0f %%", name, t.noticed, t.made, 100*float64(t.noticed)/float64(max(t.made, 1)))
	if t.unsure > 0 {
		fmt.Printf(", %d unsure", t.unsure)
	}
	fmt.Println()
}

func run(s settings) error {
	all, err := changes(s.in, s.only)
	if err != nil {
		return err
	}
	var folders []string
	for _, c := range all {
		folders = append(folders, path.Dir(c.file))
	}
	check, err := newChecker(slices.Compact(folders))
	if err != nil {
		return err
	}
	drawn, err := draw(all, s.n, s.seed, func(c *change) bool {
		src, err := os.ReadFile(c.file)
		return err == nil && check.builds(path.Dir(c.file), map[string][]byte{c.file: c.apply(src)}) == nil
	})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return fmt.Errorf("make a directory for changed files: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := tryAll(dir, check, drawn, s); err != nil {
		return err
	}
	report(s.seed, drawn)
	return nil
}

// tryAll runs the tests of all mistakes, some at once, and prints the results.
func tryAll(dir string, check *checker, drawn []*mistake, s settings) error {
	files, alone, err := switchAll(check, drawn)
	if err != nil {
		return err
	}
	tests, err := testedPackages()
	if err != nil {
		return err
	}
	shared, err := newSuite(filepath.Join(dir, "s"), files)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(s.atOnce)
	for _, m := range drawn {
		group.Go(func() error {
			with := shared
			if slices.Contains(alone, m) {
				own, err := m.own(dir)
				if err != nil {
					return err
				}
				defer os.RemoveAll(own.dir)
				with = own
			}
			if err := m.try(with, shared, nearest(tests, m.file, s.own, s.whole)); err != nil {
				return err
			}
			fmt.Printf("%3d %s:%d: %s: %s\n", m.id, m.file, m.line, strings.Join(strings.Fields(m.what), " "), m.verdict)
			return nil
		})
	}
	return group.Wait()
}

// few is the number of mistakes from which a package is reported separately.
const few = 5

// report counts mistakes by the first folder of their path, in total, and by package.
func report(seed uint64, drawn []*mistake) {
	tops, folders, all := map[string]*tally{}, map[string]*tally{}, &tally{}
	for _, m := range drawn {
		top, _, _ := strings.Cut(m.file, "/")
		count(tops, top, m.verdict)
		count(folders, path.Dir(m.file), m.verdict)
		all.add(m.verdict)
	}
	fmt.Printf("\nseed %d\n", seed)
	for _, name := range slices.Sorted(maps.Keys(tops)) {
		tops[name].print(name)
	}
	all.print("all")
	fmt.Printf("\npackages with %d or more\n", few)
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if folders[name].made >= few {
			folders[name].print(name)
		}
	}
}

func count(tallies map[string]*tally, name string, v verdict) {
	if tallies[name] == nil {
		tallies[name] = &tally{}
	}
	tallies[name].add(v)
}

// changes lists the possible changes in files of the packages whose path begins with in.
func changes(in string, only *regexp.Regexp) (out []change, err error) {
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !ours(path) || !strings.HasPrefix(filepath.ToSlash(path), in) || !only.MatchString(filepath.ToSlash(filepath.Dir(path))) {
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

// forTests are the packages that only tests use, as in the Makefile: TESTPACKAGES.
var forTests = []string{
	"dfs/dfstest", "internal/disk/memdisk", "internal/lint", "internal/memnet", "internal/mutate", "internal/require", "internal/rpc/rpctest",
	"internal/testcluster", "scheduler/schedulertest",
}

// ours reports whether path is code that is built here and is not a test.
func ours(path string) bool {
	name := filepath.Base(path)
	if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(path, "testdata") {
		return false
	}
	dir := filepath.ToSlash(filepath.Dir(path))
	if slices.Contains(forTests, dir) {
		return false
	}
	for _, system := range []string{"_other.go", "_darwin.go", "_windows.go", "_unix.go"} {
		if strings.HasSuffix(name, system) {
			return false
		}
	}
	return true
}
