package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/task"
)

// shipped keeps files of the block store on the local disk, by user and hash. Users never share files, even if
// one knows the hash of another's.
type shipped struct {
	dir, side string // side has a directory of links for each running job
	runs      func(job wire.JobID) bool

	mu    sync.Mutex // guards files
	files map[string]*shippedFile
}

// A shippedFile is a file here, or the links of a job. Its lock is held while it is made, for others that want
// the same one. Nobody waits for another file, which may be large.
type shippedFile struct {
	sync.Mutex
	jobs map[wire.JobID]bool // jobs that have used it; guarded by the mutex of shipped
}

// use records that a running job uses a file.
func (s *shipped) use(name string, job wire.JobID) *shippedFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[name]
	if f == nil {
		f = &shippedFile{jobs: map[wire.JobID]bool{}}
		s.files[name] = f
	}
	f.jobs[job] = true
	return f
}

// name returns the path of a user's file.
func (s *shipped) name(user, hash string) string {
	owner := sha256.Sum256([]byte(user)) // a user's name may not be a valid file name
	return filepath.Join(s.dir, hex.EncodeToString(owner[:8])+"-"+hash)
}

// get returns the path of a file and fetches it if needed. A file with the wrong hash is not used.
func (s *shipped) get(ctx context.Context, from *dfs.Client, user string, job wire.JobID, f wire.Side) (string, error) {
	path, hash := f.Path, f.Hash
	if b, err := hex.DecodeString(hash); err != nil || len(b) != sha256.Size {
		return "", wire.Errorf(wire.Invalid, "%s: %q is no SHA-256", path, hash)
	}
	name := s.name(user, hash)
	own := s.use(name, job)
	own.Lock()
	defer own.Unlock()
	if _, err := os.Stat(name); err == nil {
		now := time.Now()
		return name, os.Chtimes(name, now, now) // marks the last use
	}
	if err := makeDir(s.dir); err != nil {
		return "", err
	}
	return name, s.fetch(ctx, from, path, hash, name)
}

func (s *shipped) fetch(ctx context.Context, from *dfs.Client, path, hash, name string) error {
	in, err := from.Open(ctx, path)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", path, err)
	}
	defer in.Close()
	tmp := name + unfinished
	out, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("fetch %s: %w", path, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != hash {
		return wire.Errorf(wire.Invalid, "%s has the hash %s, the job was submitted with %s", path, got, hash)
	}
	return os.Rename(tmp, name)
}

// sideDir makes a directory with a job's side files under their names.
func (w *Worker) sideDir(ctx context.Context, l *wire.Launch, from *dfs.Client) (string, error) {
	if len(l.Spec.Program.Files) == 0 {
		return "", nil
	}
	s := w.shipped
	dir := filepath.Join(s.side, string(l.ID.Job))
	own := s.use(dir, l.ID.Job)
	own.Lock()
	defer own.Unlock()
	if err := makeDir(dir); err != nil {
		return "", err
	}
	for _, f := range l.Spec.Program.Files {
		if f.Name != filepath.Base(f.Name) || f.Name == "." || f.Name == ".." {
			return "", wire.Errorf(wire.Invalid, "side file %q: not a plain name", f.Name)
		}
		have, err := s.get(ctx, from, l.Spec.User, l.ID.Job, f)
		if err != nil {
			return "", err
		}
		if err := task.PlaceSide(have, filepath.Join(dir, f.Name)); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	return dir, nil
}
