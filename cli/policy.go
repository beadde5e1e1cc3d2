package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// stopper is what ends a run: somebody who does not want to wait any more, or a script with a mistake.
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
