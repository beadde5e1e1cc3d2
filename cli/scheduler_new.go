package cli

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/examples"
	"github.com/millrace/millrace/scheduler/policies"
)

const modulePath = "github.com/millrace/millrace"

func newSchedulerNew() *cobra.Command {
	var dir, source string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a Go module that is a millrace with a policy of your own, and its test",
		Long: `Writes a module of four files: main.go registers the policy and calls millrace's command, policy.go is the policy
(shortest remaining maps first, to be changed), policy_test.go holds it to what every policy promises, go.mod. The
program is a whole millrace: your policy is in sim, whatif, play, scheduler, and in a live master.`,
		Example: "  millrace scheduler new mine && cd mine && go test ./... && go run . sim run --policy fair,mine --trace gen:fb-2010:300 --load 0.9",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m := starter{name: args[0], dir: dir, source: source}
			if m.dir == "" {
				m.dir = m.name
			}
			if err := m.check(); err != nil {
				return err
			}
			if err := m.write(); err != nil {
				return failed(err)
			}
			fmt.Fprint(cmd.OutOrStdout(), m.next())
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the directory to write to (default: the name)")
	cmd.Flags().StringVar(&source, "source", "", "the directory of millrace's source, where this is no released version (default: the one that the working directory is in)")
	return cmd
}

// A starter writes the module of a new policy.
type starter struct{ name, dir, source string }

// check checks everything before the first file is written, and finds the source.
func (m *starter) check() error {
	if err := policies.CheckName(m.name); err != nil {
		return err
	}
	if token.IsKeyword(m.name) || slices.Contains([]string{"main", "key", "cli", "policies", "scheduler", "keyed", "time", "topology", "testing"}, m.name) {
		return fmt.Errorf("the name %q means something else in Go or in the module: choose another", m.name)
	}
	if entries, err := os.ReadDir(m.dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: choose another --dir", m.dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	if m.source != "" {
		if !isSource(m.source) {
			return fmt.Errorf("--source %s does not hold millrace's go.mod", m.source)
		}
		return nil
	}
	if wd, err := os.Getwd(); err == nil {
		for up := wd; ; up = filepath.Dir(up) {
			if isSource(up) {
				m.source = up
				return nil
			}
			if up == filepath.Dir(up) {
				break
			}
		}
	}
	if !released() {
		return errors.New("this binary is no released version: say where millrace's source is, --source DIRECTORY")
	}
	return nil
}

// released reports whether the binary has a version that the go command can fetch.
func released() bool { return regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(versionOf().Version) }

func isSource(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(text), "module "+modulePath+"\n")
}

// write writes the files, and removes them again if one cannot be written.
func (m *starter) write() (err error) {
	_, before := os.Stat(m.dir)
	files, err := m.files()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.dir, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			for name := range files {
				os.Remove(filepath.Join(m.dir, name))
			}
			if before != nil {
				os.Remove(m.dir)
			}
		}
	}()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// files returns the texts of the module by name: those of the example with this policy's name, and what the go command
// needs.
func (m *starter) files() (map[string]string, error) {
	out := map[string]string{}
	ident := strings.ReplaceAll(m.name, "-", "_")
	entries, err := examples.Policy.ReadDir("policy")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := examples.Policy.ReadFile("policy/" + e.Name())
		if err != nil {
			return nil, err
		}
		out[e.Name()] = strings.NewReplacer(`"shortest"`, `"`+m.name+`"`, ",shortest", ","+m.name, "test shortest", "test", "// shortest", "// "+ident, "var shortest", "var "+ident, "shortest.", ident+".",
			"(shortest)", "("+ident+")", "Command policy", "Command "+m.name, "./examples/policy", ".",
			" millrace scheduler new makes such a module for a policy of your own.", "").Replace(string(text))
	}
	if m.source == "" {
		out["go.mod"] = fmt.Sprintf("module %s\n\ngo 1.26\n\nrequire %s %s\n", m.name, modulePath, versionOf().Version)
		return out, nil
	}
	return out, m.fromSource(out)
}

// fromSource makes the module use the source in a directory, with the versions of its other dependencies, so that it
// builds without network access.
func (m *starter) fromSource(out map[string]string) error {
	where, err := filepath.Abs(m.source)
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(where, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(where, "go.sum"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(mod), "module "+modulePath+"\n", "module "+m.name+"\n", 1)
	out["go.mod"] = fmt.Sprintf("%s\nrequire %s v0.0.0\n\nreplace %s => %q\n", text, modulePath, modulePath, where)
	out["go.sum"] = string(sum)
	return nil
}

// next returns what to do with the module.
func (m *starter) next() string {
	tidy := ""
	if m.source == "" {
		tidy = "  go mod tidy                       # once: fetches millrace\n"
	}
	return fmt.Sprintf(`%s is a millrace with the policy %s. Change policy.go, then:
  cd %s
%s  go test ./...                     # does it keep what every policy promises?
  go run . scheduler test           # the same, with the smallest situation for each broken promise
  go run . sim run --policy fair,%s --trace gen:fb-2010:300 --load 0.9
docs/policies/write-your-own.md has more.
`, m.dir, m.name, m.dir, tidy, m.name)
}
