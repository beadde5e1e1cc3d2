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
	// Key-value lines; those of a join have a key for each hundred bytes of the smaller table.
	records  dataKind = "records"
	joinKeys dataKind = "left"
	joinRows dataKind = "right"
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
	var args []string
	switch dataKind(kind) {
	case rows:
		args = []string{"gen", "tera", "--ascii", "--size", strconv.FormatInt(size/100*100, 10), input}
	case records:
		args = []string{"gen", "records", "--size", number, input}
	case joinKeys:
		args = []string{"gen", "records", "--size", number, "--skew", "0", "--keys", strconv.FormatInt(max(1, size/100), 10), "--seed", "2", input}
	case joinRows:
		args = []string{"gen", "records", "--size", number, "--skew", "0", "--keys", strconv.FormatInt(max(1, size/1000), 10), input}
	default:
		args = []string{"gen", "text", "--size", number, input}
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
