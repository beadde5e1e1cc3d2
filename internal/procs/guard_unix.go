//go:build unix

package procs

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// guard is a shell that learns of this process's groups through a pipe. The pipe ends with this process, however
// that ends, and then the shell kills the remaining groups. After a signal that cannot be caught, nobody else could.
// (Linux can tie a process to a thread of its parent, but Go ends threads when it likes.)
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

// guarded starts the guard before the first group starts: starting a shell takes long enough for this process to be
// killed meanwhile.
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
	_, _ = fmt.Fprintf(guard.tell, "start %d\n", group) // without a guard everything but the clean-up works
}

// unwatch tells the guard that a group has ended.
func unwatch(group int) {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	_, _ = fmt.Fprintf(guard.tell, "end %d\n", group) // likewise
}

func startGuard() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Stdin, cmd.Dir = r, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // out of reach of the terminal's signals
	if err := cmd.Start(); err != nil {
		_ = w.Close() // the error above matters
		return err
	}
	guard.tell = w
	return nil
}
