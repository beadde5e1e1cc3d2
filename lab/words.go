package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/millrace/millrace/internal/stats"
)

// Facts are what a run contributes to a text, by their names in the text. A plain number is printed with about three
// digits.
type Facts map[string]any

// fact is a number in a text.
type fact float64

func (f fact) String() string { return stats.Text(float64(f)) }

// texts are templates by name. A name that ends in * stands for all names that begin with the rest.
type texts map[string]*template.Template

func (t texts) find(name string) *template.Template {
	return t[match(slices.Collect(maps.Keys(t)), name)]
}

// match returns the key for a name: the name itself, else the longest key that ends in * and begins it.
func match(keys []string, name string) (found string) {
	for _, key := range keys {
		if key == name {
			return key
		}
		if prefix, ok := strings.CutSuffix(key, "*"); ok && strings.HasPrefix(name, prefix) && len(key) > len(found) {
			found = key
		}
	}
	return found
}

func (r *Recorder) say(from texts, name string, facts []Facts) string {
	all := Facts{}
	for _, f := range facts {
		maps.Copy(all, f)
	}
	t := from.find(name)
	if t == nil && r.experiment.document != nil {
		r.Must(fmt.Errorf("words.md has no text %q", name))
	}
	return r.fill(t, all)
}

// fill renders a text with facts; a missing fact ends the experiment.
func (r *Recorder) fill(t *template.Template, facts Facts) string {
	if t == nil {
		return ""
	}
	values := map[string]any{}
	for name, v := range facts {
		if f, ok := v.(float64); ok {
			v = fact(f)
		}
		values[name] = v
	}
	var b strings.Builder
	r.Must(t.Execute(&b, values))
	return b.String()
}

// A section is the text below a heading of words.md.
type section struct {
	title string
	paras []string // paragraphs and list items, each on one line
	raw   string
}

// sections splits Markdown at its headings of the second level; the first section is what comes before them, under the
// title.
func sections(words string) []section {
	var out []section
	for i, part := range strings.Split("\n"+words, "\n## ") {
		title, body, _ := strings.Cut(strings.TrimLeft(part, "\n"), "\n")
		s := section{title: strings.TrimPrefix(title, "# "), raw: strings.TrimSpace(body)}
		if i > 0 {
			s.title = title
		}
		s.paras = paragraphs(s.raw)
		out = append(out, s)
	}
	return out
}

// paragraphs joins the lines of each paragraph or list item.
func paragraphs(body string) (out []string) {
	begun := false
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			begun = false
		case !begun || strings.HasPrefix(line, "- "):
			out, begun = append(out, line), true
		default:
			out[len(out)-1] += " " + line
		}
	}
	return out
}

// labelled returns the paragraph that begins with a label in bold type.
func (s section) labelled(label string) string {
	for _, p := range s.paras {
		if text, ok := strings.CutPrefix(p, "**"+label+".** "); ok {
			return text
		}
	}
	return ""
}

// names returns the names of the items of list, in order.
func (s section) names(label string) (out []string) {
	inside := false
	for _, p := range s.paras {
		if strings.HasPrefix(p, "**") {
			inside = p == "**"+label+".**"
		}
		if item, ok := strings.CutPrefix(p, "- `"); inside && ok {
			name, _, _ := strings.Cut(item, "`")
			out = append(out, name)
		}
	}
	return out
}

// list returns the items "- `name`: text" below a label, or of the whole section if the label is empty.
func (s section) list(label string) (texts, error) {
	out, inside := texts{}, label == ""
	for _, p := range s.paras {
		if strings.HasPrefix(p, "**") {
			inside = p == "**"+label+".**"
		}
		item, ok := strings.CutPrefix(p, "- `")
		name, text, named := strings.Cut(item, "`: ")
		if !inside || !ok || !named {
			continue
		}
		t, err := parse(name, text)
		if err != nil {
			return nil, err
		}
		out[name] = t
	}
	return out, nil
}

func parse(name, text string) (*template.Template, error) {
	return template.New(name).Option("missingkey=error").Parse(text)
}
