package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// dataKind is a kind of input.
type dataKind string

const (
	text  dataKind = "text"
	prose dataKind = "prose" // text with words that the regular expressions match
	rows  dataKind = "rows"  // ASCII TeraGen rows: GNU sort can sort them as lines
	tiny  dataKind = "tiny"
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
	case prose:
		return s.makeProse(ctx, input, size)
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

// makeProse appends one of the words that the regular expressions match to each second line of text.
func (s Setup) makeProse(ctx context.Context, name string, size int64) error {
	in := s.file(text, size)
	if err := s.prepare(ctx, in); err != nil {
		return err
	}
	f, err := os.Open(in)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	_, err = writeFile(name+".part", func(w *bufio.Writer) { // the error says what failed
		for i := 0; lines.Scan(); i++ {
			_, _ = w.Write(lines.Bytes())
			if i%2 == 0 {
				_, _ = w.WriteString(" " + regexps[i/2%(len(regexps)-1)].word)
			}
			_ = w.WriteByte('\n')
		}
	})
	if err = errors.Join(err, lines.Err()); err != nil {
		return err
	}
	return os.Rename(name+".part", name)
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
			return nil // the end, or an error that the commands will report
		}
	}
}
