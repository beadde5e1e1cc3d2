package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab/live"
)

// TestPagesOfLiveLaboratories: each laboratory has a page in docs/lab/live with its question, what to watch, what to ask with the answers, and figures; the index
// has a row for each, there are no others, and the commands of the pages exist, with their flags, laboratories and arms.
func TestPagesOfLiveLaboratories(t *testing.T) {
	pages, err := filepath.Glob("../docs/lab/live/*.md")
	if err != nil || len(pages) != len(live.All) {
		t.Errorf("there are %d pages and %d laboratories (%v)", len(pages), len(live.All), err)
	}
	index := pageText(t, "../docs/lab/live.md")
	checkCommands(t, "live.md", index)
	for _, l := range live.All {
		text := pageText(t, "../docs/lab/live/"+l.ID+".md")
		if row := fmt.Sprintf("| [%s](live/%s.md) | %s | %s | %d s |", l.ID, l.ID, l.Title, l.Source, l.Seconds); !strings.Contains(index, row) {
			t.Errorf("live.md lacks the row %s", row)
		}
		rest := text
		for _, want := range []string{
			"# " + l.ID + ": " + l.Title + "\n", l.Source + "; about " + fmt.Sprint(l.Seconds) + " s", "\n## Run it\n", "    millrace lab run --live " + l.ID + "\n",
			"\n## What it shows\n", "\n## What to watch on the dashboard\n\n- ", "\n## What to ask the class\n\n- **", "?** ", "\n## Measured\n\n2026-", "simulated / live", "\n|---|",
		} {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s.md has no %q, or not in its place", l.ID, want)
				break
			}
			rest = after
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "- **") && strings.HasSuffix(strings.TrimSpace(line), "?**") {
				t.Errorf("%s.md asks and does not answer: %s", l.ID, line)
			}
		}
		checkCommands(t, l.ID+".md", text)
	}
}

func pageText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	typed = regexp.MustCompile("(?m)^    (millrace .*?)(?:   .*)?$|`(?:nice -n -15 )?(millrace [^`]+)`")
	word  = regexp.MustCompile(`'[^']*'|\S+`)
)

// checkCommands parses the commands of a page.
func checkCommands(t *testing.T, page, text string) {
	t.Helper()
	for _, m := range typed.FindAllStringSubmatch(text, -1) {
		var args []string
		for _, w := range word.FindAllString(m[1]+m[2], -1) {
			args = append(args, strings.Trim(w, "'"))
		}
		root := newRoot()
		cmd, rest, err := root.Find(args[1:])
		if err == nil && cmd == root {
			err = fmt.Errorf("there is no such command")
		}
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil && cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
			err = fmt.Errorf("%s has no such command", cmd.CommandPath())
		}
		if err == nil && cmd.CommandPath() == "millrace lab run" {
			err = checkLab(cmd.Flags().Args(), cmd.Flags().GetStringSlice)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", page, strings.Join(args, " "), err)
		}
	}
}

// checkLab finds the laboratories and arms of a command.
func checkLab(ids []string, list func(string) ([]string, error)) error {
	arms, err := list("arms")
	for _, id := range ids {
		if id == "ID" || id == "all" {
			continue
		}
		l, bad := live.Find(id)
		if bad != nil {
			return bad
		}
		if _, bad := (&liveLab{arms: arms}).chosen(l); bad != nil {
			return bad
		}
	}
	return err
}
