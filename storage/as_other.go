//go:build !linux

package storage

import "errors"

func (d *DiskAs) onThread(func()) error {
	return errors.New("this system has no rights by thread: let the worker run as that user")
}
