package master

import (
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/storage"
)

// LocalPaths says whose jobs may name paths on the workers' own disks.
type LocalPaths string

// The choices. Jobs may not read workers' files unless an administrator allows it: the key of the cluster is such a
// file.
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

// localRights returns the rights of a job that this caller submits for a user.
func (m *Master) localRights(c rpc.Caller, name string) wire.LocalRights {
	switch p := m.cfg.LocalPaths; {
	case p == LocalPathsOwn && m.cfg.Key != nil:
		return wire.LocalUser
	case p == LocalPathsOwn, p == LocalPathsAuto && m.cfg.Key == nil && !m.cfg.Insecure:
		if mayActAs(c.Addr, name) {
			return wire.LocalUser
		}
	case p == LocalPathsAdmins && c.Admin && m.cfg.Key != nil: // without a key everybody is an administrator
		return wire.LocalWorker
	}
	return wire.LocalNone
}

// mayActAs reports whether a caller on this machine without a certificate may act under that name. The account that
// owns the connection must have that name, or be this master's own or root. A task that runs under a uid of its own may
// act as no user. If the system does not tell the account, only the name of this master's own user is accepted, and not
// even that if it is root.
func mayActAs(addr, name string) bool {
	uid, err := accountOf(addr)
	if err != nil {
		me, merr := user.Current()
		return merr == nil && runtime.GOOS != "linux" && me.Uid != "0" && me.Username == name
	}
	if uid == 0 || uid == os.Geteuid() {
		return true
	}
	u, err := user.Lookup(name)
	return err == nil && u.Uid == strconv.Itoa(uid)
}

// checkLocal refuses local paths of jobs that have no right to them. The worker checks the files that a shipped program
// opens.
func (m *Master) checkLocal(spec *wire.JobSpec, paths []string) error {
	if spec.Local != wire.LocalNone {
		return nil
	}
	for _, p := range paths {
		if p != "" && storage.IsLocal(p) {
			return wire.Errorf(wire.Denied, "%q is a path on a worker's own disk, which this job may not name: "+
				"put the file into the block store (millrace dfs put) and name it as dfs:/PATH (docs/security.md, --local-paths)", p)
		}
	}
	return nil
}
