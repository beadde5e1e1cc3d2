package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// certificate is a file with a user's certificate.
func (s *jobSoak) certificate(user string) string {
	s.t.Helper()
	pem, err := s.key.PEM(secure.User, user, "")
	if err != nil {
		s.t.Fatal(err)
	}
	name := filepath.Join(s.t.TempDir(), user+".pem")
	writeFile(s.t, name, pem)
	return name
}

// attack runs the hostile program with one of its attacks. It may fail, and gets nowhere.
func (r *runner) attack(exe, cert string) error {
	r.next++
	out := fmt.Sprintf("/user/%s/out%d", r.user, r.next)
	victim, _ := r.s.latest.Load().(wire.JobID) // none yet
	list := [][2]string{
		{"key", r.s.keyFile},
		{"environ", fmt.Sprintf("/proc/%d/environ", os.Getpid())},
		{"spill", r.s.dir},
		{"kill", fmt.Sprint(os.Getpid())},
		{"fork", lonely()},
		{"disk", ""},
		{"admin", string(victim)},
		{"counters", "x"},
		{"forge", string(victim)},
		{"proc", ""},
		{"trace", fmt.Sprint(os.Getpid())},
		{"calls", ""},
		{"texts", ""},
		{"logs", string(victim)},
		{"renew", ""},
	}
	a := list[r.rng.IntN(len(list))]
	ctx, cancel := context.WithTimeout(r.s.ctx, jobLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "-master", r.s.addr, "-json", "-attack", a[0], "-target", a[1], "-input", "dfs:/poison", "-output", "dfs:"+out)
	cmd.Env = append(os.Environ(), "MILLRACE_CERT="+cert, "MILLRACE_KEY=")
	text, _ := cmd.Output() // the report says how it went
	var rep report
	if err := json.Unmarshal(text, &rep); err != nil {
		return fmt.Errorf("attack %s: %w: %s", a[0], err, text)
	}
	r.ends[rep.State]++
	parts, err := readDir(r.cl, out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name, b := range parts {
		if strings.Contains(string(b), "got:") {
			return fmt.Errorf("attack %s got somewhere: %s: %s", a[0], name, b)
		}
	}
	if err := r.cl.DFS().Remove(ctx, out, true); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// nobodyLeft looks, when all daemons have ended, for processes that they or programs of users have left, and for locks.
func (s *jobSoak) nobodyLeft() {
	if s.soak == nil {
		return // it has not begun
	}
	locks, _ := filepath.Glob(filepath.Join(s.dir, "w*", "lock"))
	if locks = append(locks, filepath.Join(s.dir, "master", "names", "checkpoint.db")); len(locks) != 7 {
		s.t.Errorf("%d directories were locked, there should be 7: %q", len(locks), locks)
	}
	for _, name := range locks {
		if pid := disk.Holder(name); pid != 0 {
			s.t.Errorf("process %d has a lock on %s", pid, name)
		}
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		b, _ := os.ReadFile(name) // it may have ended
		where, _ := os.Readlink(filepath.Join(filepath.Dir(name), "cwd"))
		if text := string(b); strings.Contains(text, s.dir) || strings.HasPrefix(where, s.dir) || strings.Contains(text, lonely()) {
			s.t.Errorf("%s is left: %q in %s", name, text, where)
		}
	}
}
