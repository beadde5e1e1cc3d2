package worker

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// nameFile keeps, in its directory, the name of a worker without --name.
const nameFile = "name"

// lockNote precedes the worker's name in the lock of its directory.
const lockNote = "worker "

// NameIn returns the name of a worker without --name: the host's and a few letters, since several workers may
// be on one host. The directory keeps it across restarts. If a worker has used the directory under another
// name, given or from before names were kept, its blocks have that name, and NameIn returns it.
func NameIn(dir, host string) (wire.NodeName, error) {
	path := filepath.Join(dir, nameFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = newName(dir, path, cmp.Or(host, "worker"))
	}
	if err != nil {
		return "", fmt.Errorf("the worker's name: %w (give --name)", err)
	}
	name := strings.TrimSpace(string(text))
	if name == "" {
		return "", fmt.Errorf("the worker's name: %s is empty (give --name)", path)
	}
	return wire.NodeName(name), nil
}

// newName chooses a name and writes it down. Of two workers that start in one directory both get the first name; the
// directory's lock keeps the second out.
func newName(dir, path, host string) ([]byte, error) {
	name := host + "-" + strings.ToLower(rand.Text()[:5])
	if note, err := os.ReadFile(filepath.Join(dir, "lock")); err == nil {
		name = host
		if _, who, ok := strings.Cut(string(note), lockNote); ok {
			name, _, _ = strings.Cut(who, ",")
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(dir, nameFile+"-*.new")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(name + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}
