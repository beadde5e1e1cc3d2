package limited

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// run starts a shell with limits, and returns what it prints and why it has not begun.
func run(t *testing.T, path string, limits ...Limit) (string, error) {
	t.Helper()
	out, code, err := start(t, Args(3, 4, limits, path, []string{"sh", "-c", "ulimit -n; [ -e /proc/$$/fd/3 ] || [ -e /proc/$$/fd/4 ] || echo closed"}))
	if (code == 0) != (err == nil) {
		t.Errorf("it ended with %d, and says %v", code, err)
	}
	return out, err
}

// start starts this executable with words. Its report is file 3 and it itself file 4.
func start(t *testing.T, words []string) (printed string, code int, said error) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	report, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer report.Close()
	var out strings.Builder
	cmd := exec.Cmd{Path: "/proc/self/exe", Args: words, ExtraFiles: []*os.File{theirs, self}, Stdout: &out, Stderr: &out}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // the other end is read
	said = Read(report)
	_ = cmd.Wait() // the code says it
	return out.String(), cmd.ProcessState.ExitCode(), said
}

// TestLowered: the program has its limits, and not the files by which it began.
func TestLowered(t *testing.T) {
	if out, err := run(t, "/bin/sh", Limit{syscall.RLIMIT_CORE, 0}, Limit{syscall.RLIMIT_NOFILE, 123}); err != nil || out != "123\nclosed\n" {
		t.Errorf("%q, %v", out, err)
	}
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if err := lower(syscall.RLIMIT_NOFILE, l.Max+1); err != nil {
		t.Errorf("a limit that is lower already: %v", err)
	}
}

// TestNotLowered: a program whose limits cannot be set does not run, and one hears why; so does what is no program.
func TestNotLowered(t *testing.T) {
	for _, tt := range []struct {
		path string
		l    Limit
		want string
	}{
		{"/bin/sh", Limit{999, 1}, "limit 999=1: invalid argument"},
		{"/absent", Limit{syscall.RLIMIT_CORE, 0}, "exec /absent: no such file or directory"},
	} {
		if out, err := run(t, tt.path, tt.l); out != "" || err == nil || err.Error() != tt.want {
			t.Errorf("%s %v: %q, %v, want %s", tt.path, tt.l, out, err, tt.want)
		}
	}
}

// TestNotUnderstood: who asked hears of words that are not understood; if it is not known where to, they are printed.
func TestNotUnderstood(t *testing.T) {
	for i, want := range map[int]string{1: `strconv.Atoi: parsing "?": invalid syntax`, 2: `limits of a program: "strconv.Atoi: parsing \"?\": invalid syntax"`, 3: `limits of a program: "expected integer"`} {
		words := Args(3, 4, []Limit{{syscall.RLIMIT_CORE, 0}}, "/bin/sh", []string{"sh", "-c", "echo begun"})
		words[i] = "?"
		printed, code, said := start(t, words)
		if said != nil {
			printed += said.Error()
		}
		if printed != want || code != 126 || (said == nil) != (i == 1) {
			t.Errorf("word %d: code %d, %q, want %q", i, code, printed, want)
		}
	}
}
