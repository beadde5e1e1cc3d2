package nilerr

import "os"

func forgets(name string) error {
	if _, err := os.Stat(name); err != nil {
		return nil // want `nilerr: error is not nil`
	}
	return os.Remove(name)
}

func excused(name string) error {
	if _, err := os.Stat(name); err != nil {
		return nil //nolint:nilerr // it is not there
	}
	return os.Remove(name)
}
