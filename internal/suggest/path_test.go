package suggest

import (
	"errors"
	"testing"
)

// TestPath: the directory that is there says what was meant below it; what is not near, or cannot be listed, is not guessed.
func TestPath(t *testing.T) {
	tree := map[string][]string{
		"/": {"input", "out"}, "/input": {"books.txt", "logs"}, "/input/logs": {"today"},
		".": {"data", "notes.txt", "in\nFAKE"}, "data": {"words.txt"}, "..": {"shared"},
	}
	list := func(dir string) ([]string, error) {
		if names, ok := tree[dir]; ok {
			return names, nil
		}
		return nil, errors.New("not there, or not yours")
	}
	for _, p := range []string{"/input/logs", "data/words.txt", "../shared", ".", "/"} { // where nothing can be listed nothing is guessed
		if got := Path(p, func(string) ([]string, error) { return nil, errors.New("not yours") }); got != "" {
			t.Errorf("%q%s", p, got)
		}
	}
	for p, want := range map[string]string{
		"/inptu":            ": did you mean /input?",
		"/inptu/logs/today": ": did you mean /input/logs/today?",
		"/input/book.txt":   ": did you mean /input/books.txt?",
		"/input/lgos/today": ": did you mean /input/logs/today?",
		"/input/novels":     "",
		"/out/x":            "", // it is there and cannot be listed
		"wrods.txt":         "",
		"note.txt":          ": did you mean notes.txt?",
		"data/word.txt":     ": did you mean data/words.txt?",
		"dta/words.txt":     ": did you mean data/words.txt?",
		"./data/word.txt":   ": did you mean data/words.txt?",
		"../shard":          ": did you mean ../shared?",
		"../../x/y":         "",
		"inn\nFAKE":         `: did you mean in\nFAKE?`,
		"/inptu/":           ": did you mean /input?",
		"":                  "",
	} {
		if got := Path(p, list); got != want {
			t.Errorf("%q%s, want %q", p, got, want)
		}
	}
}
