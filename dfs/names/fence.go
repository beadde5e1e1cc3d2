package names

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// ownerFile names the owner of the directory. The lock on the checkpoint keeps out a second service. Where it
// fails, because files were copied or a network disk lies, the older of the two services finds another name
// here and stops.
const ownerFile = "owner"

// A fence is one opening of the directory. Its file stays open. The service reads it twice for each sync of the
// journal, and another service that takes the directory over writes to the same file.
type fence struct {
	file disk.File
	text string
	// ended is why this service ended by itself: nodes obey another one, on another directory.
	ended atomic.Pointer[error]
}

// takeDirectory makes this service the owner. That is durable before the journal is read, so the previous owner can
// acknowledge nothing that this one has not read. The cluster's name is for a repair: the checkpoint has it only
// once.
func takeDirectory(fsys disk.FS, r wire.Reign, cluster string) (*fence, error) {
	text := fmt.Sprintf("epoch %020d owner %s cluster %s\n", r.Epoch, r.Name, cluster)
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
	return &fence{file: file, text: text}, nil
}

// lastOwner returns what the last opening wrote about itself, or an empty name if it wrote none.
func lastOwner(fsys disk.FS) (epoch uint64, cluster string) {
	file, err := fsys.Open(ownerFile)
	if err != nil {
		return 0, ""
	}
	defer file.Close()
	var who string
	// What cannot be read counts as missing, which the caller reports.
	_, _ = fmt.Fscanf(io.NewSectionReader(file, 0, maxText), "epoch %d owner %s cluster %s\n", &epoch, &who, &cluster)
	return epoch, cluster
}

// check returns an error of kind Stale once another service has taken the directory, or the nodes.
func (f *fence) check() error {
	if why := f.ended.Load(); why != nil {
		return *why
	}
	text := make([]byte, len(f.text))
	if _, err := f.file.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("who owns the directory cannot be read: %w", err)
	}
	if string(text) != f.text {
		return wire.Errorf(wire.Stale, "another service has taken the directory over (%q, this is %q)", text, f.text)
	}
	return nil
}

// Fence returns an error of kind Stale once another service has taken the directory over. Other journals of the
// same owner check it, too.
func (s *Service) Fence() error { return s.fence.check() }

// stepDown ends the service for all callers if its directory was taken. The caller does not hold the lock.
func (s *Service) stepDown() error {
	err := s.fence.check()
	if wire.KindOf(err) != wire.Stale {
		return nil // the journal reports errors of the disk
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fenced = err
	return err
}
