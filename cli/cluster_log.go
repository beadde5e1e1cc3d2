package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/human"
)

// complaint returns the first error since then in the daemons' logs: why a cluster does not start.
func complaint(dir string, since time.Time) error {
	logs, _ := filepath.Glob(filepath.Join(dir, "logs", "*.log")) // the pattern is ours
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // another log may have it
		}
		if line := errorLine(string(text), since); line != "" {
			return fmt.Errorf("%s says: %s", human.Printable(name), human.Printable(line))
		}
	}
	return nil
}

// errorLine returns the first error of a log since then. A daemon's last words, without a time, count as an error.
func errorLine(text string, since time.Time) (line string) {
	for line = range strings.Lines(strings.TrimSpace(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		stamp, _ := strings.CutPrefix(word, "time=")
		at, err := time.Parse(time.RFC3339, stamp)
		if rest, ok := strings.CutPrefix(rest, "level=ERROR "); ok && err == nil && !at.Before(since.Truncate(time.Millisecond)) {
			return rest
		}
	}
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "millrace: ") {
		return line
	}
	return ""
}
