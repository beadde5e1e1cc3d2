package lab

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// A sentence is what a student may quote of a document: what it claims, what we find and how sure that is, in at most
// forty words; then what else there is to say. words.md has its four parts in a section of its own, at the top:
//
//	## In a sentence
//
//	**Claim.** NAS has 1.58 of Fair's throughput
//
//	**Finding.** {{.throughputA.Judged}} where the network is scarce
//
//	**How sure.** not sure, by a regime that a search found
//
//	**Beside.** Over {{.throughputA.Count}} readings it is {{.throughputA.Low}} to {{.throughputA.High}}
//
// What a run measured comes from the [Headline] of that name, of any experiment of the document: Judged, Low, High, Count, Published, and
// At "name of a reading". Only what the document itself prints may be typed.
type sentence []*template.Template

var sentenceParts = []string{"Claim", "Finding", "How sure", "Beside"}

func (s section) sentence() (out sentence, err error) {
	for _, part := range sentenceParts {
		text := s.labelled(part)
		if text == "" {
			return nil, fmt.Errorf("the section %q has no paragraph %q", s.title, part)
		}
		t, err := parse(part, strings.TrimSuffix(text, "."))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Leads returns the headline with which the finding begins: its chart is the first that a reader sees.
func (d *Document) Leads() string {
	if d.sentence == nil {
		return ""
	}
	_, rest, _ := strings.Cut(d.sentence[1].Root.String(), "{{.")
	name, _, _ := strings.Cut(rest, ".")
	return name
}

// errNoFigures says that no report has the figures for a sentence.
var errNoFigures = errors.New("no run has the figures of the sentence")

// Sentence returns what a student may quote of the document, with the figures of these reports. It returns an error if
// a figure is missing because its experiment was not run.
func (d *Document) Sentence(reports []Report) (string, error) {
	if d.sentence == nil {
		return "", errNoFigures
	}
	known := map[string]Headline{}
	for _, r := range reports {
		if strings.HasPrefix(r.ID, d.ID+"-") {
			for _, h := range r.Headlines {
				known[h.Name] = h
			}
		}
	}
	var parts [4]string
	for i, t := range d.sentence {
		var b strings.Builder
		if err := t.Execute(&b, known); err != nil {
			return "", fmt.Errorf("%w: %w", errNoFigures, err)
		}
		parts[i] = b.String()
	}
	return fmt.Sprintf("The document claims that %s; we find %s: %s. %s.", parts[0], parts[1], parts[2], parts[3]), nil
}
