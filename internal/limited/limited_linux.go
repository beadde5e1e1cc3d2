package limited

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// name is the name of a process that is about to become a program.
const name = "millrace-limited"

// A Limit is the most that a program may have of a resource (RLIMIT_NOFILE and so on).
type Limit struct {
	Resource int
	Most     uint64
}

// Args returns the arguments with which this executable becomes the program at path, with these limits. args are the
// program's own, its name first. The process inherits the pipe for its report and its executable under these
// numbers; the program does not.
func Args(report, self int, limits []Limit, path string, args []string) []string {
	list := make([]string, len(limits))
	for i, l := range limits {
		list[i] = fmt.Sprintf("%d=%d", l.Resource, l.Most)
	}
	return append([]string{name, strconv.Itoa(report), strconv.Itoa(self), strings.Join(list, ","), path}, args...)
}

// Read waits until the program has begun, or returns why it has not.
func Read(report io.Reader) error {
	b, err := io.ReadAll(report)
	if err != nil || len(b) == 0 {
		return err
	}
	number, what, _ := strings.Cut(string(b), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("limits of a program: %q", b)
	}
	return fmt.Errorf("%s: %w", what, syscall.Errno(n))
}

func init() {
	if len(os.Args) < 6 || os.Args[0] != name {
		return
	}
	report, err := become(os.Args[1:])
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		err = fmt.Errorf("%d exec %s", int(errno), os.Args[4])
	}
	_, _ = syscall.Write(report, []byte(err.Error())) // there is nobody else to tell
	os.Exit(126)
}

// become lowers the limits and turns this process into the program. It returns only if it cannot.
func become(words []string) (report int, err error) {
	report, err = strconv.Atoi(words[0])
	if err != nil {
		return 2, err
	}
	self, err := strconv.Atoi(words[1])
	if err != nil {
		return report, err
	}
	syscall.CloseOnExec(report)
	syscall.CloseOnExec(self)
	for l := range strings.SplitSeq(words[2], ",") {
		var resource int
		var most uint64
		if _, err := fmt.Sscanf(l, "%d=%d", &resource, &most); err != nil {
			return report, err
		}
		if err := lower(resource, most); err != nil {
			return report, fmt.Errorf("%d limit %s", int(err.(syscall.Errno)), l) //nolint:errorlint // lower returns what the system calls do
		}
	}
	return report, syscall.Exec(words[3], words[4:], os.Environ())
}

func lower(resource int, most uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err != nil {
		return err
	}
	l.Cur, l.Max = min(l.Cur, most), min(l.Max, most)
	return syscall.Setrlimit(resource, &l)
}
