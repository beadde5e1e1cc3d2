package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// dataKind is a kind of input.
type dataKind string

const (
	text dataKind = "text"
	rows dataKind = "rows" // ASCII TeraGen rows: GNU sort can sort them as lines
	tiny dataKind = "tiny"
)

func (s Setup) file(kind dataKind, size int64) string {
	return s.path(fmt.Sprintf("%s-%d.dat", kind, size))
}

// prepare makes the input of a case unless it is there already.
func (s Setup) prepare(ctx context.Context, input string) error {
	if _, err := os.Stat(input); err == nil {
		return nil
	}
	name := strings.TrimSuffix(strings.TrimPrefix(input, s.Dir+string(os.PathSeparator)), ".dat")
	kind, number, _ := strings.Cut(name, "-")
	size, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("input %s: %w", input, err)
	}
	args := []string{"gen", "text", "--size", number, input}
	if dataKind(kind) == rows {
		args = []string{"gen", "tera", "--ascii", "--size", strconv.FormatInt(size/100*100, 10), input}
	}
	if out, err := exec.CommandContext(ctx, s.Self, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("make %s: %w: %s", input, err, out)
	}
	return warm(input)
}

// warm reads the file, so that the first command finds it in the page cache too.
func warm(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	for {
		if n, err := f.Read(buf); n == 0 || err != nil {
			return nil //nolint:nilerr // the end, or an error that the commands will tell
		}
	}
}
