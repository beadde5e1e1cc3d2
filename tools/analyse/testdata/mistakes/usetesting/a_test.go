package usetesting

import (
	"os"
	"testing"
)

func TestHere(t *testing.T) {
	dir, err := os.MkdirTemp("", "") // want `usetesting: os.MkdirTemp`
	t.Log(dir, err)
}

func TestElsewhere(t *testing.T) {
	dir, err := os.MkdirTemp("", "") //nolint:usetesting // it must lie elsewhere
	t.Log(dir, err)
}
