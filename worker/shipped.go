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

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/wire"
)

// shipped keeps files of the block store on the local disk, by their hash.
type shipped struct {
	dir string
	mu  sync.Mutex // held while a file is fetched: others want the same one
}

// get returns where a file lies, fetching it if it is not here yet. What does not have the hash it
// should have is not used.
func (s *shipped) get(ctx context.Context, from *dfs.Client, path, hash string) (string, error) {
	if b, err := hex.DecodeString(hash); err != nil || len(b) != sha256.Size {
		return "", wire.Errorf(wire.Invalid, "%s: %q is no SHA-256", path, hash)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := filepath.Join(s.dir, hash)
	if _, err := os.Stat(name); err == nil {
		return name, nil
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
	tmp := name + ".new"
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
	dir := filepath.Join(w.cfg.Dir, "side", dirName(wire.StageRef{Job: l.ID.Job}))
	if err := makeDir(dir); err != nil {
		return "", err
	}
	for _, f := range l.Spec.Program.Files {
		if f.Name != filepath.Base(f.Name) || f.Name == "." || f.Name == ".." {
			return "", wire.Errorf(wire.Invalid, "side file %q: not a plain name", f.Name)
		}
		have, err := w.shipped.get(ctx, from, f.Path, f.Hash)
		if err != nil {
			return "", err
		}
		if err := os.Symlink(have, filepath.Join(dir, f.Name)); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	return dir, nil
}
