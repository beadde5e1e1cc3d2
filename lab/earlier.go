package lab

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
)

// Earlier is what WriteFiles left in a directory: reports, and the drawings of their page. report.json has no drawings,
// so a page with some experiments run again takes those of the others from the earlier page.
type Earlier struct {
	Reports  []Report
	drawings map[string]template.HTML // by the id of their figure or row
}

// largestPage is how much of a page is read at most; the page of all experiments has 2 MB.
const largestPage = 64 << 20

// ReadEarlier reads report.json and report.html of a directory.
func ReadEarlier(dir string) (*Earlier, error) {
	reports, err := ReadReports(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "report.html")
	switch f, err := os.Stat(name); {
	case err != nil:
		return nil, err
	case f.Size() > largestPage:
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read: it is no page of the laboratory", name, f.Size(), largestPage)
	}
	page, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	e := &Earlier{Reports: reports, drawings: drawingsOf(string(page))}
	for i := range e.Reports {
		r := &e.Reports[i]
		r.kept = true
		if player := path.Join("play", r.ID+".html"); exists(filepath.Join(dir, player)) {
			r.Player = player
		}
		for _, f := range r.Figures {
			if e.drawings[FigureFile(*r, f)] == "" {
				return nil, fmt.Errorf("%s has no drawing %s, which %s has: run %s again, too", name, FigureFile(*r, f), filepath.Join(dir, "report.json"), r.ID)
			}
		}
	}
	return e, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, os.ErrNotExist)
}

// drawn matches the figures of a page, and the pictures in its tables.
var drawn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<figure id="([^"<>]+)">(<svg .*?</svg>)|<tr id="([^"<>]+)">[^\n]*?<td class="strip">(<svg .*?</svg>)`)
})

// drawingsOf finds the drawings of a page that WriteHTML wrote.
func drawingsOf(page string) map[string]template.HTML {
	out := map[string]template.HTML{}
	for _, m := range drawn().FindAllStringSubmatch(page, -1) {
		out[cmp.Or(m[1], m[3])] = template.HTML(cmp.Or(m[2], m[4])) //nolint:gosec // chart and picture wrote it, into a page of the same reader
	}
	return out
}

// With returns the new reports and, for the experiments that were not run, the earlier ones, in the order of their ids.
// find returns an experiment by id.
func (e *Earlier) With(now []Report, find func(id string) (*Experiment, error)) ([]Report, error) {
	out := slices.Clone(now)
	for _, r := range e.Reports {
		if slices.ContainsFunc(now, func(n Report) bool { return n.ID == r.ID }) {
			continue
		}
		experiment, err := find(r.ID)
		if err != nil {
			return nil, fmt.Errorf("the report that is to be kept has %s: %w", r.ID, err)
		}
		r.document, r.Document, r.Answers = experiment.document, experiment.document.Reference, experiment.Answers
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Report) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// drawing returns a figure or a picture of a report that was kept, and "" for another.
func (l *layout) drawing(kept bool, id string) template.HTML {
	if !kept || l.Earlier == nil {
		return ""
	}
	return l.Earlier.drawings[id]
}
