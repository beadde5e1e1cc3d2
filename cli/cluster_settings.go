package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/shuffle"
)

// memoryOf returns the memory budget of each worker.
func (o *upOptions) memoryOf() *jobs.ByteSize {
	b := o.memory
	if b == 0 {
		b = jobs.ByteSize(shuffle.ShareOf(shuffle.DefaultMemory, o.workers).Total())
	}
	return &b
}

// describe reads the description of the cluster, if there is one. It alone describes machines, racks and links; flags
// override its policies.
func (o *upOptions) describe() (err error) {
	name := o.file
	if name == "" {
		if o.text == nil {
			return nil
		}
		name = shapePath(o.dir)
	} else if o.text, err = readBounded(name); err != nil {
		return err
	}
	for _, flag := range machineFlags {
		if o.given(flag) {
			return fmt.Errorf("--%s cannot go with --file, which says it", flag)
		}
	}
	if o.described, err = parseDescription(name, o.text); err != nil {
		return err
	}
	o.workers, o.racks = o.described.machines(), o.described.Racks
	return o.override()
}

// override replaces policies of the description by those of the command line.
func (o *upOptions) override() error {
	d := o.described
	if o.given("policy") {
		d.Policy, d.Params = o.policy, nil
	}
	if o.given("admission") {
		d.Admission, d.Admitting = o.admission, nil
	}
	params, err1 := parseParams(o.params)
	admitting, err2 := parseParams(o.admitting)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	d.Params, d.Admitting = merged(d.Params, params), merged(d.Admitting, admitting)
	if key, err := d.checkPolicies(); err != nil {
		flag, _, _ := strings.Cut(strings.Trim(key, "'"), "s.") // params.x of the flag --param
		return fmt.Errorf("--%s: %w", strings.Trim(flag, "'"), err)
	}
	return nil
}

// merged returns one set of parameters overridden by another.
func merged(under, over map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}

// plan returns which daemons to start, and with which flags.
func (o *upOptions) plan(dir string) (masters []string, workers []plannedWorker, err error) {
	masters, flags, err := o.settings()
	if err != nil || o.described == nil {
		for i := range o.workers {
			workers = append(workers, plannedWorker{workerName(i), rackName(i % o.racks), flags})
		}
		return masters, workers, err
	}
	o.topology, err = o.described.writeLinks(dir)
	return o.described.masters(), o.described.workers(), err
}

// settings returns the flags of masters and of workers: those given, and the defaults of this command if neither the
// configuration file nor a variable sets them.
func (o *upOptions) settings() (masters, workers []string, err error) {
	var file configFile
	if o.config != "" {
		if file, _, err = readConfig(o.config); err != nil {
			return nil, nil, err
		}
	}
	add := func(section string, values map[string]any, flag string, list ...string) (out []string) {
		_, inFile := values[flag]
		_, inVariable := os.LookupEnv((&configured{section: section}).variable(flag))
		if !o.given(flag) && (inFile || inVariable) {
			return nil
		}
		for _, v := range list {
			out = append(out, "--"+flag, v)
		}
		return out
	}
	masters = slices.Concat(
		add("master", file.Master, "policy", o.policy), add("master", file.Master, "param", o.params...),
		add("master", file.Master, "admission", o.admission), add("master", file.Master, "admission-param", o.admitting...),
	)
	workers = slices.Concat(
		add("worker", file.Worker, "containers", strconv.Itoa(o.containers)), add("worker", file.Worker, "memory", o.memoryOf().String()),
	)
	return masters, workers, nil
}
