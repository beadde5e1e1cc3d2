//go:build unix

package procs

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// guard is a shell that is told of the groups of this process through a pipe. The pipe ends with this process, however it ends, and then
// the shell kills the groups that are left: a signal that cannot be caught leaves nobody else to do it. (Linux can tie a process to a
// thread of its parent, and Go ends threads when it likes.)
var guard struct {
	mu   sync.Mutex // guards tell and what is written to it
	tell *os.File   // nil before the first group
}

const guardScript = `
while read -r what group; do
	rest=
	for g in $live; do [ "$g" = "$group" ] || rest="$rest $g"; done
	live=$rest
	[ "$what" = start ] && live="$live $group"
done
for g in $live; do kill -9 "-$g"; done`

// guarded starts the guard, before the first group: starting a shell takes long enough for this process to be killed meanwhile.
func guarded() error {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if guard.tell != nil {
		return nil
	}
	if err := startGuard(); err != nil {
		return fmt.Errorf("start a shell that ends what this process leaves: %w", err)
	}
	return nil
}

// watch tells the guard of a group that has just started.
func watch(group int) {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	_, _ = fmt.Fprintf(guard.tell, "start %d\n", group) // without a guard all works but this
}

// unwatch tells the guard that a group has ended.
func unwatch(group int) {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	_, _ = fmt.Fprintf(guard.tell, "end %d\n", group) // as above
}

func startGuard() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Stdin, cmd.Dir = r, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what ends this process by the terminal leaves the guard
	if err := cmd.Start(); err != nil {
		_ = w.Close() // the error above counts
		return err
	}
	guard.tell = w
	return nil
}
