package disk

import (
	"fmt"
	"os"
)

// OwnDir makes a directory into which nobody else may look, and closes one that is there and open to others. Directories
// above it keep their rights: they may be somebody else's.
func OwnDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := os.Chmod(path, info.Mode()&^0o077); err != nil {
		return fmt.Errorf("others may look into %s, and this cannot be changed: %w", path, err)
	}
	return nil
}
