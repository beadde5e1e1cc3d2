package play

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed lectures/*.md
var lectures embed.FS

// A Lecture is a page of text with a scenario to watch. Its file begins with a heading and ends in a block of JSON, the
// scenario. A block "sweep" before that is a chart that the page makes. Words in braces in the text are figures of the
// runs; lecture.js defines them.
type Lecture struct {
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Text     string          `json:"text"`
	Scenario json.RawMessage `json:"scenario"`
	Sweep    json.RawMessage `json:"sweep,omitempty"`
}

// Lectures returns the lectures that come with the program, by name.
func Lectures() []Lecture {
	files, err := lectures.ReadDir("lectures")
	if err != nil {
		panic(err) // they are embedded
	}
	out := make([]Lecture, len(files))
	for i, f := range files {
		b, err := lectures.ReadFile("lectures/" + f.Name())
		if err == nil {
			out[i], err = parseLecture(strings.TrimSuffix(f.Name(), ".md"), string(b))
		}
		if err != nil {
			panic(err) // a test reads them all
		}
	}
	return out
}

// Example returns the script that the playground begins with: shortest remaining maps first.
func Example() string { return asset("example.star") }

func parseLecture(name, text string) (Lecture, error) {
	title, rest, headed := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	say, block, fenced := strings.Cut(rest, "```json\n")
	scenario, _, closed := strings.Cut(block, "```")
	say, chart, charted := strings.Cut(say, "```sweep\n")
	sweep, _, _ := strings.Cut(chart, "```")
	if !headed || !fenced || !closed || !json.Valid([]byte(scenario)) || charted && !json.Valid([]byte(sweep)) {
		return Lecture{}, fmt.Errorf("lecture %s: a heading, a text and a block of JSON are wanted, and of JSON is a sweep, too", name)
	}
	_, name, _ = strings.Cut(name, "-") // the number that orders them
	var paragraphs []string
	for p := range strings.SplitSeq(strings.TrimSpace(say), "\n\n") {
		paragraphs = append(paragraphs, strings.Join(strings.Fields(p), " "))
	}
	return Lecture{Name: name, Title: title, Text: strings.Join(paragraphs, "\n\n"), Scenario: json.RawMessage(scenario), Sweep: json.RawMessage(sweep)}, nil
}
