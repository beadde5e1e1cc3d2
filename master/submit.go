package master

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/program"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// A Program is what the master can know about a built-in program before it runs.
type Program struct {
	Stages int
	Inputs []string   // of the first stage
	Output string     // of the last
	Paths  []string   // that any stage reads or writes
	Shape  wire.Shape // of the first stage
	Shell  bool       // it runs commands
}

// Describe returns what a chain of jobs reads and writes.
func Describe(stages []mapreduce.Job) Program {
	out := Program{Stages: len(stages)}
	for i := range stages {
		for _, in := range stages[i].AllInputs() {
			if i == 0 {
				out.Inputs, out.Shape = append(out.Inputs, in.Paths...), wire.Shape(stages[i].Shape())
			}
			out.Paths = append(out.Paths, in.Paths...)
		}
		out.Output = stages[i].Output
		out.Paths = append(out.Paths, out.Output)
	}
	return out
}

// submit accepts a job. It refuses what cannot work here, with the reason, because a driver would find out only after
// it has started: a job that waits for an hour and then has no input is an hour lost.
func (m *Master) submit(ctx context.Context, c rpc.Caller, spec wire.JobSpec) (wire.Submitted, error) {
	if c.Node == "" || spec.User == "" {
		spec.User = c.User
	}
	if err := m.maySubmit(c, spec.User, spec.Queue); err != nil {
		return wire.Submitted{}, err
	}
	if err := checkSize(&spec); err != nil {
		return wire.Submitted{}, err
	}
	spec.Local = m.localRights(c, spec.User)
	if spec.Request != "" { // the first submission may have made the output by now
		id, err := ask(ctx, m, func(time.Duration) (wire.JobID, error) { return m.jobs.Requested(&spec), nil })
		if err != nil || id != "" {
			return wire.Submitted{Job: id}, err
		}
	}
	if err := m.checkSpec(ctx, &spec); err != nil {
		return wire.Submitted{}, err
	}
	if err := m.room(); err != nil {
		return wire.Submitted{}, wire.Errorf(wire.KindOf(err), "no job is taken: %w", err)
	}
	if err := m.names.MayChange(); err != nil {
		return wire.Submitted{}, wire.Errorf(wire.KindOf(err), "no job is taken: %w", err)
	}
	return ask(ctx, m, func(now time.Duration) (wire.Submitted, error) {
		spec.Under = &wire.Policies{Policy: m.policy, Admission: m.admit, Second: m.cfg.Jobs.SecondAttempts.Choice()}
		id, err := m.jobs.Submit(now, spec)
		return wire.Submitted{Job: id}, err
	})
}

// describe fills in what the master can know about a job, and returns it.
func (m *Master) describe(spec *wire.JobSpec) (known Program, err error) {
	known = Program{Inputs: spec.Inputs, Shape: spec.Shape}
	if p := &spec.Program; p.Exe == "" && p.Builtin != "" && m.cfg.Program != nil {
		if known, err = m.cfg.Program(p); err != nil {
			return known, wire.Errorf(wire.Invalid, "%w", err)
		}
		if known.Stages != spec.Stages {
			return known, wire.Errorf(wire.Invalid, "%s is a chain of %d jobs, not of %d", p.Builtin, known.Stages, spec.Stages)
		}
		if spec.Output == "" {
			spec.Output = known.Output
		}
		if known.Output != spec.Output {
			return known, wire.Errorf(wire.Invalid, "%s writes to %q, and the submission says %q", p.Builtin, known.Output, spec.Output)
		}
		if err := m.checkLocal(spec, known.Paths); err != nil {
			return known, err
		}
		spec.Shape = known.Shape
	}
	if spec.Expect.Input == 0 {
		spec.Expect.Input = m.sizeOf(known.Inputs, spec.User)
	}
	if spec.Expect.Maps == 0 {
		spec.Expect.Maps = int32(min(mapsOf(known.Inputs, spec.Shape), int64(m.cfg.Jobs.MaxTasks)))
	}
	return known, nil
}

// checkSpec refuses a job that the master can see is wrong. The driver checks again when it runs.
func (m *Master) checkSpec(ctx context.Context, spec *wire.JobSpec) error {
	known, err := m.checkProgram(ctx, spec)
	if err != nil {
		return err
	}
	if err := m.checkLocal(spec, append([]string{spec.Output}, spec.Inputs...)); err != nil {
		return err
	}
	for _, f := range spec.Program.Files {
		if err := m.mustExist("the side file "+f.Name, f.Path, spec.User); err != nil {
			return err
		}
	}
	for _, in := range known.Inputs {
		if p, ok := storePath(in); ok {
			if err := m.mustExist("the input "+in, p, spec.User); err != nil {
				return err
			}
		}
	}
	return m.checkOutput(spec)
}

// checkOutput refuses an output that the user may not make, or that is there.
func (m *Master) checkOutput(spec *wire.JobSpec) error {
	if p, ok := storePath(spec.Output); ok {
		if err := m.names.Access(p, spec.User, true); err != nil && wire.KindOf(err) == wire.Denied {
			return wire.Errorf(wire.Denied, "output %q: %w", spec.Output, err)
		}
	}
	if p, ok := storePath(spec.Output); ok && !spec.Overwrite {
		if _, err := m.names.Stat(wire.PathRequest{Path: p, User: spec.User}); err == nil {
			return wire.Errorf(wire.Exists, "output directory %q: output exists (remove it, choose another, or give --overwrite)", spec.Output)
		}
	}
	return nil
}

// storePath returns the path of a single file or directory in the block store. It returns false for patterns and for
// other places.
func storePath(name string) (string, bool) {
	p, ok := strings.CutPrefix(name, "dfs:")
	if !ok || !strings.HasPrefix(p, "/") || strings.ContainsAny(p, `*?[{\`) {
		return "", false
	}
	return path.Clean(p), true
}

// mustExist refuses a path that is not in the block store. If the name service cannot say, the path is accepted.
func (m *Master) mustExist(what, p, user string) error {
	_, err := m.names.Stat(wire.PathRequest{Path: p, User: user})
	if err != nil && wire.KindOf(err) == wire.NotFound {
		return wire.Errorf(wire.NotFound, "%s is not in the block store: %w%s", what, err, m.meant(p, user))
	}
	if err := m.names.Access(p, user, false); err != nil && wire.KindOf(err) == wire.Denied {
		return wire.Errorf(wire.Denied, "%s: %w", what, err)
	}
	return nil
}

// meant returns a question that names the path nearest to a missing one, among those that the user may see.
func (m *Master) meant(p, user string) string {
	return suggest.Path(p, func(dir string) ([]string, error) {
		list, err := m.names.List(wire.ListRequest{Path: dir, User: user, Limit: suggest.MostNames})
		return list.Names(), err
	})
}

// checkProgram refuses a program that is not there, or that no worker can run. It returns what the master can know
// about it.
func (m *Master) checkProgram(ctx context.Context, spec *wire.JobSpec) (known Program, err error) {
	if spec.Program.Exe != "" {
		if err := m.checkExecutable(ctx, spec); err != nil {
			return known, err
		}
	}
	if known, err = m.describe(spec); err == nil && known.Shell {
		err = m.mayStart(ctx, program.Needs{Loader: program.Shell})
	}
	return known, err
}

func (m *Master) checkExecutable(ctx context.Context, spec *wire.JobSpec) error {
	p := &spec.Program
	if b, err := hex.DecodeString(p.Hash); err != nil || len(b) != sha256.Size {
		return wire.Errorf(wire.Invalid, "the program %s: %.80q is no SHA-256", p.Exe, p.Hash)
	}
	if err := m.mustExist("the program "+p.Exe, p.Exe, spec.User); err != nil {
		return err
	}
	if err := m.mayStart(ctx, m.needsOf(ctx, p, spec.User)); err != nil {
		return wire.Errorf(wire.KindOf(err), "the program %s cannot run here: %w", p.Exe, err)
	}
	return nil
}

// mayStart refuses what no worker that is up can start.
func (m *Master) mayStart(ctx context.Context, n program.Needs) error {
	machines, err := ask(ctx, m, func(time.Duration) ([]program.Machine, error) { return m.jobs.Machines(), nil })
	if err != nil {
		return err
	}
	if err := n.Start(machines); err != nil {
		return wire.Errorf(wire.Invalid, "%w", err)
	}
	return nil
}
