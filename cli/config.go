package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/master"
)

// configFile is the content of a configuration file. The keys of a daemon's section are the names of its flags, so that
// there is one list of settings, with one set of defaults and explanations.
type configFile struct {
	Master map[string]any          `yaml:"master"`
	Worker map[string]any          `yaml:"worker"`
	Queues map[string]master.Queue `yaml:"queues"`
}

func readConfig(name string) (c configFile, data []byte, err error) {
	if data, err = readBounded(name); err != nil {
		return c, nil, err
	}
	err = decodeYAML(name, data, &c)
	return c, data, err
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes are too many for a configuration", name, maxFile)
	}
	return data, err
}

// configured is a command whose flags may also be given by a file and by variables. A flag overrides a variable, a
// variable the file, and the file the default.
type configured struct {
	section string
	file    string
	Queues  map[string]master.Queue
}

func (c *configured) define(cmd *cobra.Command, section string) {
	c.section = section
	cmd.Flags().StringVar(&c.file, "config", os.Getenv("MILLRACE_CONFIG"), "configuration file (millrace config print shows one; default: $MILLRACE_CONFIG)")
}

// notSettings are flags that make no sense in a file.
var notSettings = []string{"config", "help"}

// load sets the flags that are not given.
func (c *configured) load(cmd *cobra.Command) error {
	var file configFile
	var data []byte
	if c.file != "" {
		var err error
		if file, data, err = readConfig(c.file); err != nil {
			return err
		}
	}
	c.Queues = file.Queues
	values := map[string]map[string]any{"master": file.Master, "worker": file.Worker}[c.section]
	for key := range values {
		if f := cmd.Flags().Lookup(key); f == nil || slices.Contains(notSettings, key) {
			return fmt.Errorf("%s:%d: %s has no setting %q; there are %s", c.file, c.line(data, key), c.section, key, strings.Join(settingsOf(cmd.Flags()), ", "))
		}
	}
	var failure error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if failure != nil || f.Changed || slices.Contains(notSettings, f.Name) {
			return
		}
		if v, ok := os.LookupEnv(c.variable(f.Name)); ok {
			if err := cmd.Flags().Set(f.Name, v); err != nil {
				failure = fmt.Errorf("$%s: %w", c.variable(f.Name), err)
			}
			return
		}
		if v, ok := values[f.Name]; ok {
			if err := setFlag(cmd.Flags(), f.Name, v); err != nil {
				failure = fmt.Errorf("%s:%d: %s.%s: %w", c.file, c.line(data, f.Name), c.section, f.Name, err)
			}
		}
	})
	return failure
}

func (c *configured) line(data []byte, key string) int {
	return lineOf(data, fmt.Sprintf("$.%s.'%s'", c.section, key))
}

// variable returns the name of the environment variable of a setting.
func (c *configured) variable(key string) string {
	return "MILLRACE_" + strings.ToUpper(c.section+"_"+strings.ReplaceAll(key, "-", "_"))
}

// setFlag sets a flag to the value of a file: a text, a number, or a list of them.
func setFlag(fs *pflag.FlagSet, name string, v any) error {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if err := setFlag(fs, name, one); err != nil {
				return err
			}
		}
		return nil
	case map[string]any, nil:
		return fmt.Errorf("must be a text, a number or a list of them")
	}
	return fs.Set(name, fmt.Sprint(v))
}

// settingsOf returns the flags that a file may set.
func settingsOf(fs *pflag.FlagSet) (out []string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notSettings, f.Name) {
			out = append(out, f.Name)
		}
	})
	return out
}

func newConfig() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the configuration that daemons can have", Example: "  millrace config print > millrace.yaml"}
	cmd.AddCommand(&cobra.Command{
		Use:     "print",
		Short:   "Print a configuration file with every setting, its default and what it means",
		Example: "  millrace config print > millrace.yaml\n  millrace master --config millrace.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprint(out, `# Configuration of millrace. Every setting has its default here. A flag (--listen) goes before
# a variable (MILLRACE_MASTER_LISTEN), a variable before this file.
`)
			printSection(out, "master", newMaster())
			printSection(out, "worker", newWorker())
			fmt.Fprint(out, `
# Who may submit jobs to a queue, and who may also kill others' jobs there. "*" is everybody. Without
# this section every queue is open; with it, queues that are not listed are refused.
#queues:
#  default:
#    submit: ["*"]
#  research:
#    submit: [ann, bob]
#    admin: [ann]
`)
			return nil
		},
	})
	return cmd
}

func printSection(out io.Writer, name string, cmd *cobra.Command) {
	fmt.Fprintf(out, "\n%s:\n", name)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(notSettings, f.Name) {
			return
		}
		value := f.DefValue
		switch f.Value.Type() {
		case "string":
			value = fmt.Sprintf("%q", f.DefValue)
		case "bool", "int", "int32", "stringArray":
		default:
			if value == "" {
				value = `""`
			}
		}
		fmt.Fprintf(out, "  # %s\n  %s: %s\n", f.Usage, f.Name, value)
	})
}
