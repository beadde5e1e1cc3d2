package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/examine"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/scheduler/script"
)

// maxSituations bounds the situations that scheduler test tries.
const maxSituations = 100_000

type examineOptions struct {
	situations int
	conserving bool
	params     map[string]string
	promises   examine.Promises
}

func newSchedulerTest() *cobra.Command {
	o := &examineOptions{}
	cmd := &cobra.Command{
		Use:   "test [POLICY|FILE.star|DIRECTORY ...]",
		Short: "Hold policies to what every policy promises; show the smallest situation in which one breaks",
		Long: `Runs each policy through random clusters, workloads and faults. A policy is one by name, a script, or the module of
your own in a directory, whose policies are tested by its own program. Without an argument: the policies that
were registered beside those of millrace.`,
		Example: `  millrace scheduler test mine.star
  millrace scheduler test ./mine --situations 2000`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.IntVar(&o.situations, "situations", 200, "how many random situations to try")
	f.BoolVar(&o.conserving, "work-conserving", false, "the policy claims that no place stays free while a map fits it")
	f.DurationVar(&o.promises.PerTask, "per-task", 0, "how long the policy may hold each task back before that counts as starving, e.g. 10s for one that waits for locality")
	f.DurationVar(&o.promises.Patience, "patience", 0, "how long a job may rest in all before that counts as starving (0: ten minutes)")
	f.StringToStringVar(&o.params, "param", nil, "parameters of the policy, as name=value; where none is given, those of a cluster")
	return leavesNothing(cmd)
}

func (o *examineOptions) run(cmd *cobra.Command, args []string) error {
	if o.situations < 1 || o.situations > maxSituations {
		return fmt.Errorf("--situations is %d, must be between 1 and %d", o.situations, maxSituations)
	}
	o.promises.WorkConserving, o.promises.HoldsReduces = o.conserving, true
	if len(args) == 0 {
		for _, i := range policies.Own() {
			args = append(args, i.Name)
		}
	}
	if len(args) == 0 {
		return errors.New("scheduler test needs a policy, a script or the directory of a module (millrace scheduler new NAME makes one)")
	}
	var wrong []string
	for _, what := range args {
		ok, err := o.one(cmd, what)
		if err != nil {
			return err
		}
		if !ok {
			wrong = append(wrong, what)
		}
	}
	if len(wrong) > 0 {
		return failed(fmt.Errorf("%s: promises are broken", strings.Join(wrong, ", ")))
	}
	return nil
}

// one tests a policy and reports whether it keeps every promise.
func (o *examineOptions) one(cmd *cobra.Command, what string) (bool, error) {
	if info, err := os.Stat(what); err == nil && info.IsDir() {
		return o.module(cmd, what)
	}
	if strings.HasSuffix(what, ".star") {
		defer watchMemory(what, apartMemory)()
	}
	make, err := o.maker(what)
	if err != nil {
		return false, err
	}
	return o.tell(cmd, what, make), nil
}

func (o *examineOptions) tell(cmd *cobra.Command, what string, make func() scheduler.Policy) bool {
	w, said := cmd.OutOrStdout(), time.Now()
	found := examine.Policy(make, o.promises, o.situations, func(i int) {
		if now := time.Now(); now.Sub(said) > 2*time.Second {
			said = now
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d of %d situations\n", what, i, o.situations)
		}
	})
	for _, f := range found {
		fmt.Fprintf(w, "%s: %s", what, f)
	}
	if len(found) == 0 {
		fmt.Fprintf(w, "%s keeps every promise in %d situations, half of them with faults.\n", what, o.situations)
	}
	return len(found) == 0
}

// maker returns a function that makes the policy of a name or a script. It finds out now what could be wrong.
func (o *examineOptions) maker(what string) (func() scheduler.Policy, error) {
	make := func() (scheduler.Policy, error) { return policies.Policy(what, policies.UsualParams(what, o.params)) }
	if strings.HasSuffix(what, ".star") {
		name, text, err := readScript(what)
		if err != nil {
			return nil, err
		}
		if len(o.params) > 0 {
			return nil, errors.New("--param: a script has no parameters")
		}
		make = func() (scheduler.Policy, error) { return script.New(name, text) }
	}
	if _, err := make(); err != nil {
		return nil, err
	}
	return func() scheduler.Policy {
		p, err := make()
		if err != nil {
			panic(err) // it could be made a moment ago
		}
		return p
	}, nil
}

// module makes the program of a module test its own policies.
func (o *examineOptions) module(cmd *cobra.Command, dir string) (bool, error) {
	if _, err := os.Stat(filepath.Join(dir, "main.go")); err != nil {
		return false, fmt.Errorf("%s is no module with a policy: it has no main.go (millrace scheduler new NAME makes one)", dir)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return false, failed(fmt.Errorf("testing the module in %s needs Go, which is not installed here: %w", dir, err))
	}
	args := []string{"run", ".", "scheduler", "test"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "param" {
			for name, v := range o.params {
				args = append(args, "--param="+name+"="+v)
			}
			return
		}
		args = append(args, "--"+f.Name+"="+f.Value.String())
	})
	run := exec.CommandContext(cmd.Context(), goTool, args...)
	run.Dir, run.Stdout, run.Stderr = dir, cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := run.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			return false, failed(err)
		}
		return false, &failure{} // the program has printed why
	}
	return true, nil
}
