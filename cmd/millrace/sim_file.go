package main

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// simFile is what a file of sim run may hold. What is not in it keeps its default.
type simFile struct {
	Nodes      *int     `yaml:"nodes"`
	Racks      *int     `yaml:"racks"`
	Containers *int     `yaml:"containers"`
	Heartbeat  *string  `yaml:"heartbeat"`
	Trace      *string  `yaml:"trace"`
	Scale      *float64 `yaml:"scale"`
	Policies   []struct {
		Name   string            `yaml:"name"`
		Policy string            `yaml:"policy"`
		Params map[string]string `yaml:"params"`
	} `yaml:"policies"`
	Admission struct {
		Policy string            `yaml:"policy"`
		Params map[string]string `yaml:"params"`
	} `yaml:"admission"`
}

const maxSimFile = 1 << 20

// readFile takes the values of a file for all flags that are not given.
func (o *simOptions) readFile(cmd *cobra.Command) error {
	data, err := os.ReadFile(o.file)
	if err != nil {
		return failed(err)
	}
	if len(data) > maxSimFile {
		return fmt.Errorf("%s: %d bytes are too many for a description of a cluster", o.file, len(data))
	}
	var f simFile
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return fmt.Errorf("%s: %s", o.file, yaml.FormatError(err, false, false))
	}
	if err := o.take(cmd, &f); err != nil {
		return fmt.Errorf("%s:%d: heartbeat: %w", o.file, lineOf(data, "$.heartbeat"), err)
	}
	if cmd.Flags().Changed("policy") || f.Policies == nil {
		return nil
	}
	return o.armsOfFile(&f, data)
}

func (o *simOptions) take(cmd *cobra.Command, f *simFile) error {
	given := cmd.Flags().Changed
	setIf(f.Nodes, &o.nodes, given("nodes"))
	setIf(f.Racks, &o.racks, given("racks"))
	setIf(f.Containers, &o.containers, given("containers"))
	setIf(f.Trace, &o.trace, given("trace"))
	setIf(f.Scale, &o.scale, given("scale"))
	if f.Heartbeat != nil && !given("heartbeat") {
		d, err := time.ParseDuration(*f.Heartbeat)
		if err != nil {
			return err
		}
		o.heartbeat = d
	}
	return nil
}

func setIf[T any](from, to *T, given bool) {
	if from != nil && !given {
		*to = *from
	}
}

// armsOfFile makes the policies of the file and says which key is wrong.
func (o *simOptions) armsOfFile(f *simFile, data []byte) error {
	seen := map[string]bool{}
	for i, p := range f.Policies {
		a := arm{name: p.Name, policy: p.Policy, params: p.Params, admission: f.Admission.Policy, admitParams: f.Admission.Params}
		if a.name == "" {
			a.name = a.policy
		}
		key := fmt.Sprintf("$.policies[%d]", i)
		if seen[a.name] {
			return fmt.Errorf("%s:%d: policies: %q is there twice; give one a name", o.file, lineOf(data, key), a.name)
		}
		seen[a.name] = true
		if err := (arm{policy: a.policy, params: a.params}).check(); err != nil {
			return fmt.Errorf("%s:%d: policies: %w", o.file, lineOf(data, key), err)
		}
		if err := a.check(); err != nil {
			return fmt.Errorf("%s:%d: admission: %w", o.file, lineOf(data, "$.admission"), err)
		}
		o.arms = append(o.arms, a)
	}
	return nil
}

// lineOf returns the line of a key, 1 where it cannot be found.
func lineOf(data []byte, key string) int {
	p, err := yaml.PathString(key)
	if err != nil {
		return 1
	}
	node, err := p.ReadNode(bytes.NewReader(data))
	if err != nil || node == nil || node.GetToken() == nil {
		return 1
	}
	return node.GetToken().Position.Line
}
