package journal

import (
	"path"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

func (j *Journal) reserveName() string { return path.Join(j.dir, "reserve") }

// Room returns an error of kind NoSpace while the disk is full, or almost full.
func (j *Journal) Room() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if _, free, err := j.fs.Free(); j.low && !j.refill() || err == nil && free < j.cfg.ReserveBytes/4 {
		return j.full()
	}
	return nil
}

func (j *Journal) full() error {
	return wire.Errorf(wire.NoSpace, "journal %s: the disk is full; %d bytes must be free to go on", j.dir, 2*j.cfg.ReserveBytes)
}

// refill recreates the reserve once twice its size is free.
func (j *Journal) refill() bool {
	_, free, err := j.fs.Free()
	if err != nil || free < 2*j.cfg.ReserveBytes || !j.fillReserve() {
		return false
	}
	j.low = false
	return true
}

// fillReserve makes sure that the reserve exists: a file of zeros whose room the journal can use when there is no
// other.
func (j *Journal) fillReserve() bool {
	name := j.reserveName()
	if info, err := j.fs.Stat(name); err == nil {
		if info.Size() >= j.cfg.ReserveBytes {
			return true
		}
		if err := j.fs.Remove(name); err != nil {
			return false
		}
	}
	return writeZeros(j.fs, name, j.cfg.ReserveBytes) == nil
}

// writeZeros creates a file of zeros, or none.
func writeZeros(fsys disk.FS, name string, size int64) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	zeros := make([]byte, min(size, 1<<20))
	for size > 0 && err == nil {
		n := min(size, int64(len(zeros)))
		_, err = f.Write(zeros[:n])
		size -= n
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		if e := fsys.Remove(name); e != nil {
			return e
		}
	}
	return err
}
