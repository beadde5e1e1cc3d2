package disk

import (
	"fmt"
	"os"
)

// OwnDir makes a directory that nobody else may enter. If it exists and is open to others, OwnDir closes it.
// Directories above it keep their modes, since they may be somebody else's.
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
