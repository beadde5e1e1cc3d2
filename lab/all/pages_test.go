package all

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/live"
)

var (
	rewrite = flag.Bool("rewrite", false, "write docs/lab from the words of the documents and the committed results")
	renewed = flag.String("renewed", "", "with -rewrite: put the reports of this report.json into the file that -into names, in place of those of the same experiments")
	into    = flag.String("into", "", "with -renewed: a file of docs/lab/results, quick.json or model.json")
	figures = flag.String("figures", "", "with -rewrite: take the key charts from this directory, DIR/figures of lab run --out DIR")
)

const pages = "../../docs/lab"

// The pages below docs/lab are the words of the documents, with the figures of the committed run.
func TestPagesAreTheWords(t *testing.T) {
	reports := map[string]lab.Report{}
	all, err := lab.ReadReports(committed[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		reports[r.ID] = r
	}
	alive, err := lab.ReadReports(filepath.Join(filepath.Dir(committed[0]), "live.json"))
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite && *figures != "" {
		takeFigures(t, all)
	}
	for _, d := range Documents() {
		path := filepath.Join(pages, d.ID+".md")
		want := pageOf(d, reports, alive)
		if *rewrite {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not lab/%s/words.md with the committed results (%v): go test ./lab/all -run Pages -rewrite", path, d.ID, err)
		}
	}
}

func pageOf(d *lab.Document, reports map[string]lab.Report, alive []lab.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Made from lab/%s/words.md and docs/lab/results/results.json by go test ./lab/all -run Pages -rewrite -->\n\n", d.ID)
	fmt.Fprintf(&b, "# %s\n\n", d.Title)
	if said, err := d.Sentence(slices.Collect(maps.Values(reports))); err == nil { // else the committed run is older than the sentence
		fmt.Fprintf(&b, "> %s\n\n", said)
	}
	writeLead(&b, d, reports)
	fmt.Fprintf(&b, "%s\n\n## The document\n\n> %s\n\n%s\n", d.Front, d.Reference, d.Intro)
	folded(&b, "Words", glossary(d))
	for _, e := range d.Experiments {
		writeExperiment(&b, e, reports[e.ID])
		for _, r := range alive {
			if l, err := live.Find(r.ID); err == nil && l.Experiment == e.ID {
				writeLive(&b, r)
			}
		}
	}
	return strings.TrimRight(b.String()+"\n"+d.Notes, "\n") + "\n"
}

func writeExperiment(b *strings.Builder, e *lab.Experiment, r lab.Report) {
	count := map[lab.Verdict]int{}
	rows := map[lab.Verdict][][]string{}
	for _, c := range r.Checks {
		count[c.Verdict]++
		rows[c.Verdict] = append(rows[c.Verdict], []string{c.Item, c.Published, c.Measured, c.Tolerance, c.Why})
	}
	fmt.Fprintf(b, "\n## %s: %s\n\n**%s**\n\n", e.ID, e.Title, r.Finding())
	for _, f := range r.Key() {
		writeFigure(b, r, f)
	}
	fmt.Fprintf(b, "**Question.** %s\n\n*%s; repetitions of the committed run: %d; %d reproduced, %d direction, %d shape only, %d not reproduced%s*\n", e.Question, e.Source, r.Seeds, count[lab.Reproduced], count[lab.Direction], count[lab.ShapeOnly], count[lab.NotReproduced], named(count))
	folded(b, "Set-up, how to read it, and more charts", fmt.Sprintf("**Set-up.** %s\n\n**How to read it.** %s\n%s", r.Setup, e.Read, otherCharts(r)))
	for _, v := range []lab.Verdict{lab.Direction, lab.NotReproduced, lab.Contradiction, lab.NotPrintedEnough, lab.Reproduced, lab.ShapeOnly} {
		if len(rows[v]) > 0 {
			folded(b, fmt.Sprintf("%d of %s", len(rows[v]), v), markdown([]string{string(v), "published", "measured", "accepted", "why"}, rows[v]))
		}
	}
}

// named counts what is not reproduced for a fault of the source, and what it was before that had a name.
func named(count map[lab.Verdict]int) string {
	contradiction, unprinted := count[lab.Contradiction], count[lab.NotPrintedEnough]
	if contradiction+unprinted == 0 {
		return ""
	}
	return fmt.Sprintf(", %d contradiction, %d not printed enough (before these had names: %d not reproduced)", contradiction, unprinted, count[lab.NotReproduced]+contradiction+unprinted)
}

// otherCharts lists the charts that only the report has.
func otherCharts(r lab.Report) string {
	if len(r.Others()) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nMore charts, in the [report](results/index.html):\n\n")
	for _, f := range r.Others() {
		fmt.Fprintf(&b, "- `%s`: %s\n", f.Name, f.Caption)
	}
	return b.String()
}

// folded writes what a reader opens to see.
func folded(b *strings.Builder, what, text string) {
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n%s\n</details>\n", what, text)
}

// glossary is the words and tables of a document.
func glossary(d *lab.Document) string {
	var b strings.Builder
	for _, w := range d.Words {
		fmt.Fprintf(&b, "- **%s**: %s\n", w.Name, w.Meaning)
	}
	for _, t := range d.Tables {
		fmt.Fprintf(&b, "\n%s\n\n%s", t.Title, markdown(t.Head, t.Rows))
	}
	return b.String()
}

// writeLead writes the chart of the figure that the sentence of a document begins with.
func writeLead(b *strings.Builder, d *lab.Document, reports map[string]lab.Report) {
	for _, e := range d.Experiments {
		for _, f := range reports[e.ID].Key() {
			if f.Name == "strip-"+d.Leads() {
				writeFigure(b, reports[e.ID], f)
			}
		}
	}
}

func writeFigure(b *strings.Builder, r lab.Report, f lab.Figure) {
	fmt.Fprintf(b, "![%s of %s](figures/%s.svg)\n\n*%s*\n\n", f.Name, r.ID, lab.FigureFile(r, f), f.Caption)
}

// takeFigures puts the key charts of a run in place of those that are there.
func takeFigures(t *testing.T, reports []lab.Report) {
	t.Helper()
	to := filepath.Join(pages, "figures")
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		for _, f := range r.Key() {
			name := lab.FigureFile(r, f) + ".svg"
			svg, err := os.ReadFile(filepath.Join(*figures, name))
			if err = errors.Join(err, os.WriteFile(filepath.Join(to, name), svg, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRenew puts reports of experiments that ran again among those that did not: quick.json and model.json have no page that lab run --keep
// could renew.
func TestRenew(t *testing.T) {
	if !*rewrite || *renewed == "" {
		return // this is how the files are written, and tests nothing
	}
	path := filepath.Join(filepath.Dir(committed[0]), *into)
	now, err := lab.ReadReports(*renewed)
	if err != nil {
		t.Fatal(err)
	}
	all, err := lab.ReadReports(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range now {
		i := slices.IndexFunc(all, func(old lab.Report) bool { return old.ID == r.ID })
		if i < 0 {
			t.Fatalf("%s has no %s: make it with all its experiments", path, r.ID)
		}
		all[i] = r
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFigures: every key chart is there, is a picture, and belongs to an experiment.
func TestFigures(t *testing.T) {
	reports, err := lab.ReadReports(committed[0])
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	files, err := os.ReadDir(filepath.Join(pages, "figures"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		left[f.Name()] = true
	}
	for _, r := range reports {
		for _, f := range r.Key() {
			name := lab.FigureFile(r, f) + ".svg"
			svg, err := os.ReadFile(filepath.Join(pages, "figures", name))
			if err = errors.Join(err, xml.Unmarshal(svg, new(struct {
				XMLName xml.Name `xml:"svg"`
			}))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			delete(left, name)
		}
	}
	if len(left) > 0 {
		t.Errorf("%v belong to no experiment", slices.Sorted(maps.Keys(left)))
	}
}

// writeLive writes what the cluster did with the workload of an experiment, beside the simulator.
func writeLive(b *strings.Builder, r lab.Report) {
	fmt.Fprintf(b, "\n**On a cluster.** The same workload, scaled to one machine ([live/%s.md](live/%s.md) has the scale): `millrace lab run --live %s --repeat %d`. %s", r.ID, r.ID, r.ID, r.Seeds, r.Setup)
	for _, c := range r.Checks {
		fmt.Fprintf(b, " %s%s: %s (accepted: %s).", strings.ToUpper(c.Item[:1]), c.Item[1:], c.Measured, c.Tolerance)
	}
	b.WriteString("\n")
	for _, t := range r.Tables {
		folded(b, t.Title, markdown(t.Head, t.Rows))
	}
}

// markdown writes a table.
func markdown(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(&b, "| %s ", cmp.Or(strings.ReplaceAll(c, "|", "\\|"), " "))
		}
		b.WriteString("|\n")
	}
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// mostSaid is how many words the first sentence of a page may have.
const mostSaid = 40

// A page begins with what its document claims, what we find and how sure, in a sentence that can be quoted, and names authors and title.
func TestFirstSentences(t *testing.T) {
	all, err := lab.ReadReports(committed[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Documents() {
		said, err := d.Sentence(all)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(said, ". ")
		if n := len(strings.Fields(first)); n > mostSaid {
			t.Errorf("%s: %d words, at most %d: %s", d.ID, n, mostSaid, first)
		}
		data, err := os.ReadFile(filepath.Join(pages, d.ID+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if page := string(data); !strings.HasPrefix(page, "<!--") || strings.Count(page[:strings.Index(page, "> The document claims that ")], "\n") != 4 || !strings.Contains(page, "\n> "+d.Reference+"\n") {
			t.Errorf("%s does not begin with its sentence, or does not name its document", d.ID)
		}
	}
}

// TestPagesBeginWithWhatWasFound: the section of an experiment has its finding, then its key chart; tables fold away. No page says that something
// is impossible, which no run shows.
func TestPagesBeginWithWhatWasFound(t *testing.T) {
	for _, d := range Documents() {
		data, err := os.ReadFile(filepath.Join(pages, d.ID+".md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"cannot", "incast", "impossible"} {
			if at := strings.Index(strings.ToLower(string(data)), bad); at >= 0 {
				t.Errorf("%s.md says %q: %s", d.ID, bad, data[max(0, at-80):min(len(data), at+80)])
			}
		}
		sections := strings.Split(string(data), "\n## ")
		for _, e := range d.Experiments {
			i := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, e.ID+": ") })
			if i < 0 {
				t.Errorf("%s.md has no section %s", d.ID, e.ID)
				continue
			}
			paras := strings.Split(sections[i], "\n\n")
			open, _, _ := strings.Cut(sections[i], "<details>")
			if len(paras) < 3 || !strings.HasPrefix(paras[1], "**") || !strings.HasPrefix(paras[2], "![") || strings.Contains(open, "\n|") {
				t.Errorf("%s does not begin with its finding and its key chart, with tables folded:\n%s", e.ID, open)
			}
		}
	}
}
