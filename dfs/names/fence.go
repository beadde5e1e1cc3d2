package names

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// ownerFile says who the directory belongs to. The lock on the checkpoint keeps a second service
// away; where it does not hold, because files were copied or a network disk lies, the older of
// two services finds another name here and stops.
const ownerFile = "owner"

// A fence is one opening of the directory. Its file stays open: the service reads it twice for each sync of
// the journal, and another service that takes the directory over writes into the same file.
type fence struct {
	file disk.File
	text string
}

// takeDirectory writes a new owner. It is durable before anything else is read: what the owner
// before acknowledged later than that it could not have. The cluster's name is there for a repair: the checkpoint has it
// only once.
func takeDirectory(fsys disk.FS, epoch uint64, cluster string) (*fence, error) {
	text := fmt.Sprintf("epoch %020d owner %s cluster %s\n", epoch, rand.Text(), cluster)
	file, err := fsys.Edit(ownerFile)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = fsys.Create(ownerFile)
	}
	if err != nil {
		return nil, err
	}
	_, err = file.WriteAt([]byte(text), 0) // in place: a full disk has room for it
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = fsys.SyncDir(".")
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &fence{file, text}, nil
}

// lastOwner reads what the last opening wrote about itself; the name is empty where it wrote none.
func lastOwner(fsys disk.FS) (epoch uint64, cluster string) {
	file, err := fsys.Open(ownerFile)
	if err != nil {
		return 0, ""
	}
	defer file.Close()
	var who string
	// What cannot be read is not there, which the caller says.
	_, _ = fmt.Fscanf(io.NewSectionReader(file, 0, maxText), "epoch %d owner %s cluster %s\n", &epoch, &who, &cluster)
	return epoch, cluster
}

// check is nil as long as nobody else took the directory. Stale says that somebody has.
func (f *fence) check() error {
	text := make([]byte, len(f.text))
	if _, err := f.file.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("who owns the directory cannot be read: %w", err)
	}
	if string(text) != f.text {
		return wire.Errorf(wire.Stale, "another service has taken the directory over (%q, this is %q)", text, f.text)
	}
	return nil
}

// Fence is nil as long as the directory belongs to this service, and an error of kind Stale when
// another has taken it over. Other journals of the same owner use it as theirs.
func (s *Service) Fence() error { return s.fence.check() }

// stepDown ends the service for everybody when its directory was taken. The lock is not held.
func (s *Service) stepDown() error {
	err := s.fence.check()
	if wire.KindOf(err) != wire.Stale {
		return nil // an error of the disk shows where it matters: in the journal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fenced = err
	return err
}
