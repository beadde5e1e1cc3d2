package policies

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/scheduler"
)

const module = "github.com/millrace/millrace/"

// checker type-checks the packages of the module from their source, and those of Go by an importer.
type checker struct {
	fset  *token.FileSet
	std   types.Importer
	done  map[string]*types.Package
	files map[string][]*ast.File
	info  *types.Info
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	if build.Default.GOROOT == "" { // built with -trimpath
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(root))
	}
	fset := token.NewFileSet()
	return &checker{
		fset: fset, std: importer.ForCompiler(fset, "source", nil), done: map[string]*types.Package{}, files: map[string][]*ast.File{},
		info: &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}},
	}
}

// Import implements types.Importer.
func (c *checker) Import(path string) (*types.Package, error) {
	rest, ours := strings.CutPrefix(path, module)
	if !ours {
		return c.std.Import(path)
	}
	if p := c.done[path]; p != nil {
		return p, nil
	}
	dir := filepath.Join("..", "..", rest)
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		c.files[path] = append(c.files[path], f)
	}
	p, err := (&types.Config{Importer: c}).Check(path, c.fset, c.files[path], c.info)
	c.done[path] = p
	return p, err
}

// through are the methods of the scheduler's words through which policies read fields of a JobSpec.
var through = map[string]string{
	"Job.User": "User", "Job.Queue": "Queue", "Job.Pool": "Pool", "Job.Priority": "Priority", "Job.Weight": "Weight", "JobSpec.InputBytes": "Input",
	"Job.SplitBytes": "Input",
}

// reads returns the fields of scheduler.JobSpec that the code of a package reads.
func (c *checker) reads(t *testing.T, path string) map[string]bool {
	t.Helper()
	if _, err := c.Import(path); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, f := range c.files[path] {
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || c.info.Selections[sel] == nil {
				return true
			}
			s := c.info.Selections[sel]
			recv := s.Recv()
			if p, is := recv.(*types.Pointer); is {
				recv = p.Elem()
			}
			named, is := types.Unalias(recv).(*types.Named)
			if !is || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != module+"scheduler" {
				return true
			}
			what := named.Obj().Name() + "." + s.Obj().Name()
			if field, via := through[what]; via {
				out[field] = true
			} else if named.Obj().Name() == "JobSpec" && s.Kind() == types.FieldVal {
				out[s.Obj().Name()] = true
			}
			return true
		})
	}
	return out
}

// families are the packages of policies.
var families = map[string][]string{
	"fifo": {"fifo"}, "fair": {"fair", "delay"}, "capacity": {"capacity", "capacity-init"}, "deadline": {"deadline-min", "deadline-max"},
	"sizebased": {"fbq", "tags", "sita", "comp", "srpt"}, "jobpacker": {"jobpacker", "jobpacker-adhoc-agg", "corral"}, "hybrid": {"hybrid"},
	"nas":       {"nas", "nas-mts", "nas-mts-ca", "nas-no-both", "nas-no-mct", "nas-no-tt", "shufflewatcher", "sw-delay"},
	"admission": {"cbt", "cbtws", "cbtwat", "marp", "unlimited"},
}

// notGiven are fields that no job tells: the master finds them out, or only a simulator knows them.
var notGiven = map[string]bool{"ID": true, "Submit": true, "HasDriver": true, "Maps": true, "Reduces": true, "Splits": true, "Work": true, "MapRacks": true, "ReduceRacks": true}

// TestInputsAsRead holds the inputs that scheduler show prints to what the code of the policies reads: every field that some
// policy reads can be given, every input reaches the policies that are said to read it, and each reaches one. The package scheduler reads for them slow
// start (whose reduces go by it, sim's TestSlowStartAsShown holds) and, for admission, the priorities of jobs that wait.
func TestInputsAsRead(t *testing.T) {
	c, seen := newChecker(t), map[string]bool{}
	fair, core := c.reads(t, module+"scheduler/fair"), c.reads(t, module+"scheduler")
	for family, names := range families {
		own, said := c.reads(t, module+"scheduler/"+family), map[string]bool{}
		for _, name := range names {
			if All[name] == nil {
				t.Fatalf("there is no policy %s", name)
			}
			seen[name] = true
			for _, i := range InputsOf(name) {
				for _, f := range i.Fields {
					said[f] = true
					forThem := i.Everyone || i.Flag == "slowstart" || i.Flag == "priority" && family == "admission"
					if !own[f] && !(forThem && core[f]) && !(usesFair(c, family) && fair[f]) {
						t.Errorf("%s is said to read --%s, and nothing in %s reads %s", name, i.Flag, family, f)
					}
				}
			}
		}
		for f := range own {
			if !said[f] && !notGiven[f] {
				t.Errorf("%s reads %s, which no input of its policies gives", family, f)
			}
		}
	}
	for _, i := range List() {
		if !seen[i.Name] && i.Seam != scheduler.Placing {
			t.Errorf("%s is in no family of this test", i.Name)
		}
	}
	for _, i := range Inputs {
		if !i.Everyone && !slices.ContainsFunc(slices.Collect(maps.Values(reads)), func(s string) bool { return slices.Contains(strings.Fields(s), i.Flag) }) {
			t.Errorf("--%s reaches no policy", i.Flag)
		}
	}
	for name, list := range reads {
		for flag := range strings.FieldsSeq(list) {
			if !slices.ContainsFunc(Inputs, func(i Input) bool { return i.Flag == flag }) {
				t.Errorf("%s reads %q, which is no input", name, flag)
			}
		}
	}
}

func usesFair(c *checker, family string) bool {
	return slices.ContainsFunc(c.done[module+"scheduler/"+family].Imports(), func(p *types.Package) bool { return p.Path() == module+"scheduler/fair" })
}
