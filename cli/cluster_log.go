package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/human"
)

// complaint is the first error that a log of the daemons has of the time since: why a cluster does not start.
func complaint(dir string, since time.Time) error {
	logs, _ := filepath.Glob(filepath.Join(dir, "logs", "*.log")) // the pattern is ours
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // another may say it
		}
		if line := errorLine(string(text), since); line != "" {
			return fmt.Errorf("%s says: %s", human.Printable(name), human.Printable(line))
		}
	}
	return nil
}

// errorLine is the first error of a log since then. What a daemon says as its last word, without a time, is one.
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
