package lab

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"text/template"
)

// An Experiment is one published experiment, or several that share their runs. Its package gives Run and how long that
// takes; its document's words give the rest.
type Experiment struct {
	ID      string
	Seconds int // how long a full run takes on two cores, about
	Run     func(r *Recorder)

	Title  string
	Source string // specification and items of its list "What to reproduce"
	// For the reader of a report: what is asked, and how to read the charts. How it is set up is a template.
	Question, Read string
	Answers        []string // items of the checks that answer the question, if not the first judged one

	document          *Document
	setup             *template.Template
	captions, remarks texts
	order             []string // of captions, as the words have them: the first chart is the one to look at
}

// A Document is a published document: its experiments, and what a reader must know before them.
type Document struct {
	ID    string // what the ids of its experiments begin with
	Title string
	// Front is for the pages of documentation: what the document is about, in Markdown.
	Front string
	// Reference names authors, title and year; Intro says what the document is about and how to read references into it.
	Reference, Intro string
	Words            []Word
	Tables           []Table // what several experiments refer to
	Experiments      []*Experiment
	// Notes are further sections of the pages of documentation, in Markdown.
	Notes string

	sentence sentence // nil: it has none yet
}

// A Word is a policy, a measure or an abbreviation of a document, and what it means.
type Word struct{ Name, Meaning string }

// NewDocument joins experiments with the words of their document. It panics if words.md lacks what they need, which the
// tests of every document would notice.
func NewDocument(id, words string, tables []Table, experiments ...*Experiment) *Document {
	d := &Document{ID: id, Tables: tables, Experiments: experiments}
	if err := d.read(words); err != nil {
		panic(fmt.Sprintf("words of %s: %v", id, err))
	}
	return d
}

func (d *Document) read(words string) error {
	parts := sections(words)
	d.Title, d.Front = parts[0].title, parts[0].raw
	byID := map[string]section{}
	var shared texts
	for _, s := range parts[1:] {
		id, title, _ := strings.Cut(s.title, ": ")
		var err error
		switch {
		case s.title == "The document":
			d.Reference, d.Intro = s.reference()
		case s.title == "In a sentence":
			d.sentence, err = s.sentence()
		case s.title == "Words":
			d.Words, d.Tables = s.words(), append(s.tables(), d.Tables...)
		case s.title == "Remarks":
			shared, err = s.list("")
		case strings.HasPrefix(id, d.ID+"-"):
			s.title = title
			byID[id] = s
		default:
			d.Notes += "## " + s.title + "\n\n" + s.raw + "\n\n"
		}
		if err != nil {
			return err
		}
	}
	for _, e := range d.Experiments {
		if err := e.read(d, byID[e.ID], shared); err != nil {
			return fmt.Errorf("%s: %w", e.ID, err)
		}
	}
	return nil
}

// read reads the words of an experiment from its section.
func (e *Experiment) read(d *Document, s section, shared texts) (err error) {
	e.document, e.Title, e.Question, e.Read = d, s.title, s.labelled("Question"), s.labelled("How to read it")
	e.Answers = s.names("Answered by")
	if len(s.paras) > 0 {
		e.Source = strings.Trim(s.paras[0], "*")
	}
	if e.Title == "" || e.Question == "" || e.Source == "" {
		return errors.New("no section with a title, a source and a question")
	}
	var failed [3]error
	e.setup, failed[0] = parse("set-up", s.labelled("Set-up"))
	e.captions, failed[1] = s.list("Charts")
	e.order = s.names("Charts")
	e.remarks, failed[2] = s.list("Remarks")
	all := maps.Clone(shared)
	if all == nil {
		all = texts{}
	}
	maps.Copy(all, e.remarks)
	e.remarks = all
	return errors.Join(failed[:]...)
}

// reference returns the quoted line of a section, and the rest.
func (s section) reference() (quoted, rest string) {
	var others []string
	for _, p := range s.paras {
		if q, ok := strings.CutPrefix(p, "> "); ok {
			quoted = q
		} else {
			others = append(others, p)
		}
	}
	return quoted, strings.Join(others, " ")
}

// words returns the items "- **name**: meaning" of a section.
func (s section) words() (out []Word) {
	for _, p := range s.paras {
		name, meaning, ok := strings.Cut(strings.TrimPrefix(p, "- **"), "**: ")
		if ok {
			out = append(out, Word{name, meaning})
		}
	}
	return out
}

// tables returns the tables of a section; the line before a table is its title.
func (s section) tables() (out []Table) {
	title, inside := "", false
	for line := range strings.Lines(s.raw) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch table := strings.HasPrefix(line, "|"); {
		case table && !inside:
			out, inside = append(out, Table{Title: title, Head: cells}), true
		case table && !strings.HasPrefix(line, "|---"):
			last := &out[len(out)-1]
			last.Rows = append(last.Rows, cells)
		case !table && strings.TrimSpace(line) != "":
			title, inside = strings.TrimSpace(line), false
		}
	}
	return out
}
