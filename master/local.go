package master

import (
	"fmt"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/storage"
)

// LocalPaths says whose jobs may name paths on the workers' own disks.
type LocalPaths string

// The choices. A file of a worker is nobody's input unless somebody says so: the key of the cluster is one of them.
const (
	LocalPathsAuto   LocalPaths = "auto"   // own without a key, none with one
	LocalPathsNone   LocalPaths = "none"   // nobody's
	LocalPathsOwn    LocalPaths = "own"    // everybody's, with the rights of their accounts on the workers
	LocalPathsAdmins LocalPaths = "admins" // administrators', with the workers' rights
)

func (p LocalPaths) validate() error {
	switch p {
	case LocalPathsAuto, LocalPathsNone, LocalPathsOwn, LocalPathsAdmins:
		return nil
	}
	return fmt.Errorf("local paths are %q, must be %s, %s, %s or %s", p, LocalPathsAuto, LocalPathsNone, LocalPathsOwn, LocalPathsAdmins)
}

// localRights are those of a job that this caller submits.
func (m *Master) localRights(c rpc.Caller) wire.LocalRights {
	switch p := m.cfg.LocalPaths; {
	case p == LocalPathsOwn, p == LocalPathsAuto && m.cfg.Key == nil && !m.cfg.Insecure:
		return wire.LocalUser
	case p == LocalPathsAdmins && c.Admin && m.cfg.Key != nil: // without a key everybody is an administrator
		return wire.LocalWorker
	}
	return wire.LocalNone
}

// checkLocal refuses local paths of jobs that have no right to them. What a shipped program opens the worker judges.
func (m *Master) checkLocal(spec *wire.JobSpec, paths []string) error {
	if spec.Local != wire.LocalNone {
		return nil
	}
	for _, p := range paths {
		if p != "" && storage.IsLocal(p) {
			return wire.Errorf(wire.Denied, "%q is a path on a worker's own disk, which jobs of this cluster may not name: "+
				"put the file into the block store (millrace dfs put) and name it as dfs:/PATH (docs/security.md, --local-paths)", p)
		}
	}
	return nil
}
