package blocks

import (
	"errors"
	"syscall"

	"github.com/millrace/millrace/internal/wire"
)

// isNoSpace reports whether an error says that a disk or a quota is full.
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, wire.NoSpace)
}
