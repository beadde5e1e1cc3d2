//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// becomeNobody lets a command run without the rights of root.
func becomeNobody(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
