package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
)

// outputs is the map output on this worker's disk. Each stage has a directory in which the files of finished
// maps survive the process.
type outputs struct {
	root  string
	files *packs

	mu  sync.Mutex // guards everything
	all map[wire.AttemptID]*shuffle.Output
}

// openOutputs finds what an earlier process left, and removes what was unfinished.
func openOutputs(root string, small int) (*outputs, []wire.AttemptID, error) {
	o := &outputs{root: root, files: newPacks(small), all: map[wire.AttemptID]*shuffle.Output{}}
	if err := makeDir(root); err != nil {
		return nil, nil, err
	}
	dirs, err := os.ReadDir(root)
	if err != nil {
		return nil, nil, err
	}
	var held []wire.AttemptID
	for _, d := range dirs {
		ref, ok := parseDir(d.Name())
		if !ok {
			continue
		}
		ids, err := o.adopt(ref, filepath.Join(root, d.Name()))
		if err == nil && len(ids) == 0 { // no report mentions it, so no master would ever have it dropped
			err = o.drop(ref)
		}
		if err != nil {
			return nil, nil, err
		}
		held = append(held, ids...)
	}
	return o, held, nil
}

// adopt opens the finished files of one stage.
func (o *outputs) adopt(ref wire.StageRef, dir string) (held []wire.AttemptID, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range entries {
		if f.Name() != packName {
			names = append(names, f.Name())
			continue
		}
		packed, err := o.files.adopt(dir)
		if err != nil {
			return nil, err
		}
		names = append(names, packed...)
	}
	for _, base := range names {
		name := filepath.Join(dir, base)
		id, ok := parseOutput(ref, base)
		var out *shuffle.Output
		if ok {
			out, err = shuffle.OpenOutputIn(o.files, name)
		}
		if !ok || err != nil {
			if err := o.discard(name); err != nil {
				return nil, err
			}
			continue
		}
		o.all[id] = out
		held = append(held, id)
	}
	return held, nil
}

// discard removes what no attempt can use.
func (o *outputs) discard(name string) error {
	if _, packed := o.files.find(name); packed {
		return o.files.Remove(name)
	}
	return os.RemoveAll(name)
}

func dirName(ref wire.StageRef) string { return fmt.Sprintf("%s.%d", ref.Job, ref.Stage) }

func parseDir(name string) (ref wire.StageRef, ok bool) {
	job, stage, found := strings.Cut(name, ".")
	n, err := strconv.Atoi(stage)
	return wire.StageRef{Job: wire.JobID(job), Stage: n}, found && err == nil && n >= 0
}

// parseOutput parses the name that the task gives to a finished map's file: map-INDEX-TRY and a suffix of the
// shuffle.
func parseOutput(ref wire.StageRef, name string) (wire.AttemptID, bool) {
	base, ext, found := strings.Cut(name, ".")
	parts := strings.Split(base, "-")
	if !found || len(parts) != 3 || parts[0] != "map" || ext != strings.TrimPrefix(shuffle.OutputSuffix, ".") {
		return wire.AttemptID{}, false
	}
	index, err1 := strconv.ParseInt(parts[1], 10, 32)
	try, err2 := strconv.ParseUint(parts[2], 10, 64)
	return wire.AttemptID{Job: ref.Job, Stage: ref.Stage, Kind: wire.MapTask, Index: int32(index), Try: try}, err1 == nil && err2 == nil
}

// dir returns where attempts of a stage put their files.
func (o *outputs) dir(ref wire.StageRef) (string, error) {
	d := filepath.Join(o.root, dirName(ref))
	return d, makeDir(d)
}

func (o *outputs) add(id wire.AttemptID, out *shuffle.Output) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[id] = out
}

func (o *outputs) get(id wire.AttemptID) *shuffle.Output {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[id]
}

// drop removes everything of a stage.
func (o *outputs) drop(ref wire.StageRef) error {
	o.mu.Lock()
	var errs []error
	for id, out := range o.all {
		if id.Job == ref.Job && id.Stage == ref.Stage {
			delete(o.all, id)
			errs = append(errs, out.Release())
		}
	}
	o.mu.Unlock()
	dir := filepath.Join(o.root, dirName(ref))
	return errors.Join(append(errs, o.files.drop(dir), os.RemoveAll(dir))...)
}
