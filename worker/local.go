package worker

import (
	"fmt"
	"os"
	"os/user"
	"sync"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/storage"
)

// localDisks gives attempts the local disk with the rights that their job has there.
type localDisks struct {
	mu    sync.Mutex // guards users
	users map[string]storage.FS
}

// rights returns what a storage.Mux asks about local paths.
func (d *localDisks) rights(spec *wire.JobSpec) func(string) (storage.FS, error) {
	return func(path string) (storage.FS, error) {
		switch spec.Local {
		case wire.LocalWorker:
			return storage.Disk{}, nil
		case wire.LocalUser:
			return d.as(spec.User)
		}
		return nil, storage.ErrNotLocal(path)
	}
}

// as returns the disk with one user's rights: those of this process if it runs as that user, else those that
// root can take on.
func (d *localDisks) as(name string) (storage.FS, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if fs := d.users[name]; fs != nil {
		return fs, nil
	}
	fs, err := diskAs(name)
	if err != nil {
		return nil, wire.Errorf(wire.Denied, "local paths of user %q: %w", name, err)
	}
	if d.users == nil {
		d.users = map[string]storage.FS{}
	}
	d.users[name] = fs
	return fs, nil
}

func diskAs(name string) (storage.FS, error) {
	me, err := user.Current()
	if err == nil && me.Username == name {
		return storage.Disk{}, nil
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("this worker runs as %s and has no other rights: put the file into the block store (millrace dfs put), or submit as %s", me.Username, me.Username)
	}
	fs, err := storage.As(name)
	if err == nil && fs.UID() == 0 {
		return nil, fmt.Errorf("%s has the rights of root", name)
	}
	return fs, err
}
