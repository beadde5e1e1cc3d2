package task

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

// SuccessFile is written last: its presence means that the output is complete.
const SuccessFile = "_SUCCESS"

// attemptDir holds what attempts write before they commit.
const attemptDir = "_attempts"

// ErrOutputExists marks an output directory that already exists.
var ErrOutputExists = errors.New("output exists")

// A JobOutput is the output directory of a job while the job runs: a hidden sibling of the final directory, whose
// name it takes by one rename at the end. It is safe for concurrent use.
type JobOutput struct {
	store       storage.FS
	name        string // as the job spells it
	final, work string
	overwrite   bool
	made        []string    // parents that did not exist before, deepest first
	shared      bool        // set before attempts begin: attempts elsewhere write parts, too; the winners are published last
	claim       *disk.Claim // of work; nil if others continue when this process ends

	mu        sync.Mutex      // guards committed; held while a part is renamed, so that one of two attempts at it wins
	committed map[string]bool // parts by name; nil if others decide whose part counts
}

// PrepareOwnOutput makes the output of a job that ends with this process. On a local disk it claims the hidden
// directory and removes what dead processes have left of this output.
func PrepareOwnOutput(mux storage.Mux, job *mapreduce.Job, overwrite bool) (*JobOutput, error) {
	o, err := newOutput(mux, job, overwrite)
	if err != nil {
		return nil, err
	}
	if _, ok := o.store.(storage.Disk); !ok {
		o.work = mapreduce.WorkDir(o.final, strconv.FormatUint(rand.Uint64(), 36))
		return o.prepared(mux, job, o.makeWork)
	}
	if err := o.sweep(); err != nil {
		return nil, fmt.Errorf("remove what an earlier run left beside output %q: %w", job.Output, err)
	}
	return o.prepared(mux, job, o.claimWork)
}

func newOutput(mux storage.Mux, job *mapreduce.Job, overwrite bool) (*JobOutput, error) {
	store, final, err := mux.Resolve(job.Output)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return &JobOutput{store: store, name: job.Output, final: path.Clean(final), overwrite: overwrite, committed: map[string]bool{}}, nil
}

// prepared checks the output and makes its hidden directory.
func (o *JobOutput) prepared(mux storage.Mux, job *mapreduce.Job, work func() error) (*JobOutput, error) {
	if err := o.check(mux, job); err != nil {
		return nil, err
	}
	o.noteParents()
	if err := work(); err != nil {
		return nil, errors.Join(fmt.Errorf("output %q: %w", job.Output, err), o.Abort())
	}
	return o, nil
}

// noteParents records which parents must be made.
func (o *JobOutput) noteParents() {
	for dir := path.Dir(o.final); ; dir = path.Dir(dir) {
		if _, err := o.store.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == path.Dir(dir) {
			break
		}
		o.made = append(o.made, dir)
	}
}

func (o *JobOutput) makeWork() error { return o.store.MkdirAll(path.Join(o.work, attemptDir)) }

// claimWork makes a hidden directory and claims it for this process.
func (o *JobOutput) claimWork() (err error) {
	if err := o.store.MkdirAll(path.Dir(o.final)); err != nil {
		return err
	}
	if o.claim, err = disk.NewClaim(o.hidden()); err != nil {
		return err
	}
	o.work = filepath.ToSlash(o.claim.Path())
	return o.makeWork()
}

// hidden returns where the hidden directories of this output are, and how their names begin.
func (o *JobOutput) hidden() (dir, prefix string) {
	work := mapreduce.WorkDir(o.final, "")
	return path.Dir(work), path.Base(work)
}

// sweep removes what dead processes have left of this output, and restores what one of them was about to replace.
func (o *JobOutput) sweep() error {
	dir, prefix := o.hidden()
	return disk.Sweep(dir, prefix, func(work string) error {
		old := oldDir(work)
		if strings.HasPrefix(prefix, "."+path.Base(o.final)+".") { // otherwise it may be another output's
			if _, err := o.store.Stat(o.final); errors.Is(err, fs.ErrNotExist) {
				if err := o.store.Rename(old, o.final); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
		return errors.Join(o.store.RemoveAll(work), o.store.RemoveAll(old))
	})
}

// check refuses outputs that would destroy something or be read as input.
func (o *JobOutput) check(mux storage.Mux, job *mapreduce.Job) error {
	if err := CheckPlace(mux, job.Output); err != nil {
		return err
	}
	if _, local := o.store.(storage.Disk); local {
		if to, err := os.Readlink(o.final); err == nil {
			return fmt.Errorf("output %q is a symbolic link to %q: %w (give that directory, or choose another)", job.Output, to, ErrOutputExists)
		}
	}
	info, err := o.store.Stat(o.final)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("output %q is a file, not a directory: %w (choose another)", job.Output, ErrOutputExists)
	case err == nil && !o.overwrite:
		return fmt.Errorf("output directory %q: %w (remove it, choose another, or give --overwrite)", job.Output, ErrOutputExists)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("output %q: %w", job.Output, err)
	}
	for _, in := range job.AllInputs() {
		for _, p := range in.Paths {
			if err := CheckApart(mux, p, job.Output, o.overwrite); err != nil {
				return err
			}
		}
	}
	if err == nil {
		return o.checkMade()
	}
	return nil
}

// CheckPlace refuses the directories that no job may replace, whatever is in them: the root, the process's working
// directory, and those above it.
func CheckPlace(mux storage.Mux, out string) error {
	_, final, err := mux.Resolve(out)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if path.Clean(final) == "/" {
		return fmt.Errorf("output %q is the root directory: %w (choose a directory below it)", out, ErrOutputExists)
	}
	if inside, err := mux.Inside(out, "."); err == nil && inside {
		return fmt.Errorf("output %q is the directory you work in, or one above it: %w (choose a new one, such as %q)", out, ErrOutputExists, "out")
	}
	return nil
}

// checkMade refuses to overwrite a directory that no job made, since it may be anything.
func (o *JobOutput) checkMade() error {
	entries, err := o.store.ReadDir(o.final)
	if err != nil {
		return fmt.Errorf("output %q: %w", o.name, err)
	}
	for _, e := range entries {
		if e.Name() == SuccessFile || e.Name() == attemptDir {
			return nil
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return fmt.Errorf("output %q is not the output of a job (%d names in it, such as %q, and no %s): %w, and is not overwritten; remove it yourself, or choose another",
		o.name, len(entries), entries[0].Name(), SuccessFile, ErrOutputExists)
}

// CheckApart refuses an output inside an input, and overwriting an output that contains an input.
func CheckApart(mux storage.Mux, in, out string, overwrite bool) error {
	inside, err := mux.Inside(in, out)
	if err == nil && inside {
		return fmt.Errorf("output %q lies inside the input %q: the job would read what it writes; choose another output", out, in)
	}
	if !overwrite {
		return nil
	}
	if inside, err = mux.Inside(out, in); err == nil && inside {
		return fmt.Errorf("input %q lies inside the output %q, which would be overwritten; choose another output", in, out)
	}
	return nil
}

// CheckInput refuses to overwrite what the plan reads: a pattern can lead into the output even if its text does not
// show it.
func (o *JobOutput) CheckInput(mux storage.Mux, plan *Plan) error {
	if !o.overwrite {
		return nil
	}
	seen := map[string]bool{}
	for _, s := range plan.Splits {
		for _, r := range s.Ranges {
			dir := mux.Dir(r.Path)
			if seen[dir] {
				continue
			}
			seen[dir] = true
			if inside, err := mux.Inside(o.name, dir); err == nil && inside {
				return fmt.Errorf("input %q lies inside the output %q, which would be overwritten; choose another output", r.Path, o.name)
			}
		}
	}
	return nil
}

// Commit makes the output visible. Nobody sees any of it before the final rename.
func (o *JobOutput) Commit() error {
	if err := o.store.RemoveAll(path.Join(o.work, attemptDir)); err != nil {
		return o.commitError(err)
	}
	w, err := o.store.Create(path.Join(o.work, SuccessFile))
	if err != nil {
		return o.commitError(err)
	}
	if err := w.Close(); err != nil {
		return o.commitError(err)
	}
	if err := o.publish(); err != nil {
		return err
	}
	o.claim.Release()
	return nil
}

// publish gives the hidden directory its final name.
func (o *JobOutput) publish() (err error) {
	if o.overwrite {
		err = o.replace()
	} else {
		err = o.store.Rename(o.work, o.final)
	}
	if errors.Is(err, fs.ErrExist) { // it did not exist when the job began
		return fmt.Errorf("output directory %q: %w: another job has committed its output there meanwhile (choose another, or give --overwrite)", o.name, ErrOutputExists)
	}
	if err != nil {
		return o.commitError(err)
	}
	return nil
}

// replace replaces the old output by the new one. If the store cannot do that in one step, replace moves the old one
// aside first. Two drivers at once could then move the new one aside.
func (o *JobOutput) replace() error {
	if r, ok := o.store.(storage.Replacer); ok {
		return r.ReplaceDir(o.work, o.final)
	}
	old := oldDir(o.work)
	err := o.store.Rename(o.final, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if renameErr := o.store.Rename(o.work, o.final); renameErr != nil {
		if err == nil { // bring the old one back
			return errors.Join(renameErr, o.store.Rename(old, o.final))
		}
		return renameErr
	}
	return o.store.RemoveAll(old)
}

// oldDir returns where an output that is being replaced is kept until it is removed.
func oldDir(work string) string { return work + "-old" }

func (o *JobOutput) commitError(err error) error {
	return fmt.Errorf("commit output %q: %w", o.final, err)
}

// Abort removes what was written, and the parents that were made for it unless they contain something else. It does
// not touch the final directory.
func (o *JobOutput) Abort() error {
	if o.work != "" { // otherwise it has no name yet
		if err := o.store.RemoveAll(o.work); err != nil {
			return err
		}
	}
	o.claim.Release()
	for _, dir := range o.made {
		entries, err := o.store.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			return nil //nolint:nilerr // it is gone, or belongs to somebody else
		}
		if err := o.store.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// ErrCommitted marks a second commit of the same part.
var ErrCommitted = errors.New("another attempt has committed this part")

func partName(kind mapreduce.Kind, index int) string {
	return fmt.Sprintf("part-%c-%05d", kind.String()[0], index)
}

// create opens a part for one attempt.
func (o *JobOutput) create(kind mapreduce.Kind, id ID) (*part, error) {
	name := partName(kind, id.Index)
	p := &part{
		out: o, name: name,
		tmp: path.Join(o.work, attemptDir, name+"-"+id.unique()),
	}
	var err error
	if p.file, err = o.store.Create(p.tmp); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return p, nil
}

// part is one file of output while an attempt writes it.
type part struct {
	out       *JobOutput
	name, tmp string
	file      storage.Writer
	records   mapreduce.RecordWriter
	bytes     int64
	done      bool
}

// open starts the job's output format on the part. input is the one that a map-only task reads, and 0 for a reduce.
func (p *part) open(job *mapreduce.Job, input int, task *mapreduce.Task) (*writeEmitter, error) {
	key, value := job.OutputTypes(input)
	var err error
	if p.records, err = job.OutputFormat().Open((*partBytes)(p), key, value); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return &writeEmitter{to: p.records, task: task}, nil
}

// partBytes counts the bytes written.
type partBytes part

func (p *partBytes) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.bytes += int64(n)
	return n, err
}

var _ io.Writer = (*partBytes)(nil)

// Commit makes the part one of the output's parts. It refuses a second attempt's commit.
func (p *part) Commit() error {
	if err := p.records.Close(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if p.out.shared {
		p.done = true // the master decides whose part becomes part of the output
		return nil
	}
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	if p.out.committed[p.name] {
		return fmt.Errorf("%s: %w", p.name, ErrCommitted)
	}
	if err := p.out.store.Rename(p.tmp, path.Join(p.out.work, p.name)); err != nil {
		return fmt.Errorf("commit %s: %w", p.name, err)
	}
	p.out.committed[p.name], p.done = true, true
	return nil
}

// Discard removes the attempt's file unless it was committed.
func (p *part) Discard() {
	if p.done {
		return
	}
	p.done = true
	_ = p.file.Close()
	_ = p.out.store.RemoveAll(p.tmp)
}
