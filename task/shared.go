package task

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

// On a cluster, attempts of one job run in many processes. Each writes its part under a name of its own. Which of
// them count is decided once, elsewhere, and the driver then publishes those.

// CheckOutput checks the output of a job with several drivers, one after another or, if one was wrongly taken for
// dead, at once. It creates nothing; Make does. id makes the hidden name unique.
func CheckOutput(mux storage.Mux, job *mapreduce.Job, id string, overwrite bool) (*JobOutput, error) {
	o, err := newOutput(mux, job, overwrite)
	if err != nil {
		return nil, err
	}
	o.work = mapreduce.WorkDir(o.final, id)
	return o, o.check(mux, job)
}

// Make makes the hidden directory. It exists already if another driver has made it. It stays if this driver fails,
// since attempts may write to it.
func (o *JobOutput) Make() error {
	if err := o.makeWork(); err != nil {
		return fmt.Errorf("output %q: %w", o.name, err)
	}
	return nil
}

// Work returns the hidden directory, for [JoinOutput] in other processes.
func (o *JobOutput) Work() string { return o.work }

// WorkDir returns the hidden directory that [CheckOutput] names for this job and id.
func WorkDir(mux storage.Mux, job *mapreduce.Job, id string) (string, error) {
	_, final, err := mux.Resolve(job.Output)
	if err != nil {
		return "", fmt.Errorf("output: %w", err)
	}
	return mapreduce.WorkDir(final, id), nil
}

// Share prepares an output to which attempts in other processes write.
func (o *JobOutput) Share() { o.shared = true }

// JoinOutput opens the output of a job whose driver has prepared it. work is its hidden directory. JoinOutput
// changes nothing.
func JoinOutput(mux storage.Mux, job *mapreduce.Job, work string, overwrite bool) (*JobOutput, error) {
	store, final, err := mux.Resolve(job.Output)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	final = path.Clean(final)
	if path.Dir(work) != path.Dir(final) {
		return nil, fmt.Errorf("output %q: %q is not a directory beside it", job.Output, work)
	}
	return &JobOutput{store: store, name: job.Output, final: final, work: work, overwrite: overwrite, shared: true}, nil
}

// publishers is how many parts are renamed at once.
const publishers = 16

// Publish makes the parts of these attempts, by task, those of the output. It may be repeated.
func (o *JobOutput) Publish(kind mapreduce.Kind, winners []uint64) error {
	if done, err := o.published(); done || err != nil {
		return err
	}
	moves := make([]storage.Move, len(winners))
	for i, try := range winners {
		name := partName(kind, i)
		moves[i] = storage.Move{From: path.Join(o.work, attemptDir, name+"-"+ID{Try: try}.unique()), To: path.Join(o.work, name)}
	}
	var err error
	if m, ok := o.store.(storage.Mover); ok {
		err = m.RenameAll(moves)
	} else {
		err = o.renameEach(moves)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if done, gone := o.published(); done && gone == nil { // by another driver, meanwhile
			return nil
		}
	}
	if err != nil {
		return o.commitError(err)
	}
	return nil
}

// renameEach replaces [storage.Mover] for stores without it.
func (o *JobOutput) renameEach(moves []storage.Move) error {
	var g errgroup.Group
	g.SetLimit(publishers)
	for _, m := range moves {
		g.Go(func() error {
			err := o.store.Rename(m.From, m.To)
			if errors.Is(err, fs.ErrNotExist) {
				if _, there := o.store.Stat(m.To); there == nil {
					return nil // it was moved before
				}
			}
			return err
		})
	}
	return g.Wait()
}

// commitTries is how often a commit starts over because something is gone: another driver has removed it, or has
// committed.
const commitTries = 4

// CommitOnce is Commit for an output that another driver may have committed without reporting it, or may be
// committing now, because it was wrongly taken for dead. mark identifies this job's output, and try this driver's
// files.
func (o *JobOutput) CommitOnce(mark string, try uint64) (err error) {
	for range commitTries {
		if err = o.commitOnce(mark, try); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// commitOnce puts the mark in place before it removes the directory in which it is made: without that, the mark is
// there.
func (o *JobOutput) commitOnce(mark string, try uint64) error {
	if done, err := o.published(); err != nil {
		return err
	} else if done {
		if err := o.checkMark(mark); err != nil || !o.overwrite {
			return err
		}
		return o.store.RemoveAll(oldDir(o.work)) // the last driver may have died before this
	}
	if there, err := o.marked(o.work, mark); !there || err != nil {
		if err := o.writeMark(mark, try); err != nil {
			return o.commitError(err)
		}
	}
	if err := o.store.RemoveAll(path.Join(o.work, attemptDir)); err != nil {
		return o.commitError(err)
	}
	return o.publish()
}

// published reports whether the hidden directory has already taken its final name.
func (o *JobOutput) published() (bool, error) {
	_, err := o.store.Stat(o.work)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// writeMark writes the mark and gives it its name in one step, so that no driver ever finds half of it, or none.
func (o *JobOutput) writeMark(mark string, try uint64) error {
	own := path.Join(o.work, attemptDir, SuccessFile+"-"+ID{Try: try}.unique())
	if err := o.store.RemoveAll(own); err != nil { // of this driver's last try
		return err
	}
	w, err := o.store.Create(own)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, mark)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return o.store.Rename(own, path.Join(o.work, SuccessFile))
}

// checkMark returns an error unless the final directory is this job's.
func (o *JobOutput) checkMark(mark string) error {
	there, err := o.marked(o.final, mark)
	if err != nil {
		return o.commitError(fmt.Errorf("the hidden directory is gone, and: %w", err))
	}
	if !there {
		return o.commitError(errors.New("the hidden directory is gone, and the output there is another job's"))
	}
	return nil
}

// marked reports whether a directory has this mark.
func (o *JobOutput) marked(dir, mark string) (bool, error) {
	f, err := o.store.Open(path.Join(dir, SuccessFile))
	if err != nil {
		return false, err
	}
	defer f.Close()
	got := make([]byte, len(mark)+1)
	n, err := f.ReadAt(got, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return string(got[:n]) == mark, nil
}
