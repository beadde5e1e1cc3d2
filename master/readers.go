package master

import (
	"strings"
	"sync/atomic"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master/tracker"
)

// readers are the announced jobs that have a plan. The loop sets them; the name service reads them.
type readers struct{ list atomic.Pointer[[]planned] }

// planned is one of their inputs and where it will be read.
type planned struct {
	user string
	// at is a file or directory; work is the prefix of the directories into which a job writes before they get that
	// name.
	at, work string
	racks    []string
}

func (r *readers) set(list []tracker.Reader) {
	var out []planned
	for _, j := range list {
		for _, in := range j.Inputs {
			if at, ok := storeDir(in); ok {
				out = append(out, planned{j.User, at, mapreduce.WorkDir(at, ""), j.Racks})
			}
		}
	}
	r.list.Store(&out)
}

// storeDir returns the path of an input in the block store; of a pattern, the directory above it.
func storeDir(name string) (string, bool) {
	if p, ok := storePath(name); ok {
		return p, p != "/"
	}
	if i := strings.IndexAny(name, `*?[{\`); i > 0 {
		p, ok := storePath(name[:strings.LastIndex(name[:i], "/")+1])
		return p, ok && p != "/"
	}
	return "", false
}

// racks returns the racks in which a user's file will be read, or none if no plan says so. Only the user's own jobs
// count: others have no say in where the file lies.
func (r *readers) racks(file, user string) []string {
	list := r.list.Load()
	if list == nil {
		return nil
	}
	for _, p := range *list {
		if p.user == user && (file == p.at || strings.HasPrefix(file, p.at+"/") || strings.HasPrefix(file, p.work)) {
			return p.racks
		}
	}
	return nil
}
