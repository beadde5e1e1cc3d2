package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/scheduler/script"
)

// scriptPolicy is the name of a policy that a script makes: its one parameter, code, is the text. A name that ends in .star is
// such a policy in a file.
const scriptPolicy = "script"

// makePolicy makes a policy by name, or of a script.
func makePolicy(a *arm) (scheduler.Policy, error) {
	if a.policy != scriptPolicy {
		return policies.Policy(a.policy, a.params)
	}
	for name := range a.params {
		if name != "code" {
			return nil, fmt.Errorf("policy script: no parameter %q: it has code, the text of the script", name)
		}
	}
	if a.params["code"] == "" {
		return nil, errors.New("policy script: give its text as the parameter code, or name a file that ends in .star as the policy")
	}
	return script.New(a.name, a.params["code"])
}

// readScripts reads the files of policies that are scripts.
func (o *simOptions) readScripts() error {
	for i := range o.arms {
		a := &o.arms[i]
		if !strings.HasSuffix(a.policy, ".star") {
			continue
		}
		text, err := os.ReadFile(a.policy)
		if err != nil {
			return failed(err)
		}
		if a.name == a.policy {
			a.name = strings.TrimSuffix(filepath.Base(a.policy), ".star")
		}
		a.policy, a.params = scriptPolicy, map[string]string{"code": string(text)}
	}
	return nil
}

// taskMemory is what a task may take in a run of which all is kept.
const taskMemory = 1 << 10

// watchScripts bounds the memory of runs under scripts, until what it returns is called: what the tasks need, and what the playground allows.
func watchScripts(cases []*simCase, source *workload) (stop func(), err error) {
	var names []string
	tasks := int64(0)
	for _, c := range cases {
		for i := range c.arms {
			if a := &c.arms[i]; a.policy == scriptPolicy && !slices.Contains(names, a.name) {
				names = append(names, a.name)
			}
		}
		w, err := c.tasks(nil)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			tasks = max(tasks, source.tasks(w.Shape, c.seed))
		}
	}
	if names == nil {
		return func() {}, nil
	}
	at := min(runtime.GOMAXPROCS(0), countRuns(cases)) // once
	return watchMemory("a run under "+strings.Join(names, " or "), apartMemory+uint64(at)*taskMemory*uint64(tasks)), nil
}

// stopper ends a run that was cancelled, or whose script has failed.
func stopper(stop func() error, p scheduler.Policy) func() error {
	s, ok := p.(*script.Policy)
	if !ok {
		return stop
	}
	return func() error {
		if err := s.Err(); err != nil || stop == nil {
			return err
		}
		return stop()
	}
}
